# Say how a job is: its state and exit code, then the size and the last TAIL bytes of its output.
d=$STATE/jobs/$JOB
[ -d "$d" ] || refuse "There is no job $JOB."
ended() { [ -e "$d/cancelled" ] || [ -e "$d/code" ]; }
state=running
if ! ended; then
    if [ -e "$d/lock" ]; then
        # Whoever holds the lock runs it. A code may have come between the two looks.
        flock -n "$d/lock" true && ! ended && state=lost
    elif [ -n "$(find "$d/made" -mmin +1)" ]; then
        state=lost # it never began
    fi
fi
[ -e "$d/code" ] && state=exited
[ -e "$d/cancelled" ] && state=cancelled
echo "$state $(cat "$d/code" 2>/dev/null)"
for each in out err; do
    echo "$(stat -c %s "$d/$each" 2>/dev/null || echo 0) $(tail -c "$TAIL" "$d/$each" 2>/dev/null | base64 -w0)"
done
