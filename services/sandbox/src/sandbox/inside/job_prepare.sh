# Make ready for a job. JOB is its id, CWD its folder.
inside "$CWD"
[ -d "$P" ] || refuse "There is no folder $CWD in the workspace."
mkdir -p -- "$STATE/jobs/$JOB" && : >"$STATE/jobs/$JOB/made" || refuse "The sandbox's disk is full."
