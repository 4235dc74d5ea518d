# Read a file. NAME is its path; START and COUNT are lines; MOST and IMAGE are bytes.
# Prints a line about the file, then its first bytes and what was asked for, in base64.
inside "$NAME"
[ -e "$P" ] || refuse "There is no file $NAME."
[ -d "$P" ] && refuse "$NAME is a folder: list it with sandbox_list_files."
[ -f "$P" ] || refuse "$NAME is no regular file."
[ -r "$P" ] || refuse "$NAME may not be read."
size=$(stat -c %s -- "$P")
magic=$(head -c 12 -- "$P" | od -An -tx1 | tr -d ' \n')
case $magic in
    89504e470d0a1a0a*) kind=image/png ;;
    ffd8ff*) kind=image/jpeg ;;
    47494638*) kind=image/gif ;;
    52494646????????57454250) kind=image/webp ;;
    *) kind=other ;;
esac
echo "$size $(stat -c %a -- "$P") $kind"
head -c 8000 -- "$P" | base64 -w0
echo
if [ "$kind" = other ]; then
    tail -n "+$START" -- "$P" | head -n "$COUNT" | head -c "$MOST" | base64 -w0
elif [ "$size" -le "$IMAGE" ]; then
    base64 -w0 -- "$P"
fi
