# Mark a job as cancelled, unless it has ended. What runs it is ended after that.
d=$STATE/jobs/$JOB
[ -d "$d" ] || refuse "There is no job $JOB."
[ -e "$d/code" ] || : >"$d/cancelled"
