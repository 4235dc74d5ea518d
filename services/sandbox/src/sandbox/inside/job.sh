# Run a job in the background. JOB is its id, CWD its folder, KEEP how many bytes of output are kept.
# Its lock is held as long as it runs, so that any later script can tell, in any process namespace.
d=$STATE/jobs/$JOB
exec 9>"$d/lock"
flock -n 9 || exit 125
inside "$CWD"
cd -- "$P" || exit 125
keep() { # the first KEEP bytes go to a file at once; the rest is read and dropped
    exec 9>&-
    dd bs=64K count="$KEEP" iflag=count_bytes of="$d/$1" status=none
    cat >/dev/null
}
mkfifo "$d/o" "$d/e"
keep out <"$d/o" &
out=$!
keep err <"$d/e" &
err=$!
(become) </dev/null >"$d/o" 2>"$d/e" 9>&-
code=$?
for _ in 1 2 3 4 5 6 7 8 9 10; do # what it left running may hold its output open for ever
    kill -0 $out 2>/dev/null || kill -0 $err 2>/dev/null || break
    sleep 0.1
done
echo $code >"$d/code.new" && mv "$d/code.new" "$d/code"
kill -KILL 0
