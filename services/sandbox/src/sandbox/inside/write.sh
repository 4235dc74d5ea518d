# Write a file, whole or not at all. NAME is its path, MODE its mode or empty. Prints where it is.
inside "$NAME"
[ -d "$P" ] && refuse "$NAME is a folder."
[ ! -e "$P" ] || [ -f "$P" ] || refuse "$NAME is no regular file."
mkdir -p -- "${P%/*}" 2>/dev/null || refuse "The folder of $NAME can't be made."
new=$(mktemp "${P%/*}/.new.XXXXXX") 2>/dev/null || refuse "$NAME can't be written there."
trap 'rm -f -- "$new"' EXIT
input >"$new" && [ "$(stat -c %s -- "$new")" = "$SIZE" ] || refuse "$NAME couldn't be written: is the sandbox's disk full?"
if [ -n "$MODE" ]; then
    chmod "$MODE" -- "$new"
elif [ -e "$P" ]; then
    chmod --reference="$P" -- "$new"
else
    chmod 644 -- "$new"
fi
mv -fT -- "$new" "$P" || refuse "$NAME couldn't be written."
trap - EXIT
