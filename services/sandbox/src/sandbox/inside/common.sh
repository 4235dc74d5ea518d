# Shared by the scripts of this folder. W is the workspace, WORD marks a refusal.
decoded() { printf %s "$1" | base64 -d; }
refuse() {
    printf '%s %s\n' "$WORD" "$1" >&2
    exit 97
}
mkdir -p -- "$W" "$STATE" || refuse "The sandbox's own folders can't be made: is its disk full?"
R=$(realpath -- "$W")

# inside PATH sets P to where it really leads, if that is in the workspace.
inside() {
    case $1 in
        /*) P=$1 ;;
        *) P=$W/$1 ;;
    esac
    P=$(realpath -m -- "$P" && printf x) || refuse "The path $1 can't be followed."
    P=${P%?x}
    case $P/ in
        "$R"/*) ;;
        *) refuse "The path $1 is outside the workspace, $W." ;;
    esac
}
