/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The launcher against real programs. The outside truth is the same program run without it: its
 * output and its exit status must be the same, and what it prints about the processes it makes must
 * be what the callbacks saw. Each launch happens in a process of its own, the "tool", which is also
 * what the tests kill; this process is a subreaper, so that it can wait for whatever the tool
 * leaves behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "proc/launch.h"
#include "proc/task.h"
#include "check.h"

#define MAX_PID	 (1 << 22)
#define OUT_SIZE 65536

/* What a tool saw; shared with it. */
static struct seen {
	int born, shared, execs, gone, foreign, asked;
	int wrong;	/* callbacks that came out of order or for a process that wasn't stopped */
	int wrong_line; /* of this file: the last of them */
	int err;	/* of launch__start or launch__go */
	int wait_status;
	pid_t pid;
	bool done; /* all of the tool's own checks were passed */
	char words[256];
	unsigned char alive[MAX_PID];
} * seen;

enum point { POINT_NONE, POINT_BORN, POINT_EXEC, POINT_STOP, POINT_GONE };

struct job {
	char *const *argv;
	const char *user;
	bool swallow; /* ops.stop says: ours */
	bool no_kcmp;
	bool creators_die;  /* killed by the exec of another thread, right after they forked */
	enum point kill_at; /* the tool kills itself in the nth callback of that kind */
	int kill_nth;
	bool free_early; /* launch__free when the first output is there, then wait for COMMAND */
};

static char dir[3000]; /* of the workloads */

static const char *workload(const char *name, char buf[4096])
{
	snprintf(buf, 4096, "%s/%s", dir, name);
	return buf;
}

/* ---- the tool ---- */

static const struct job *job;

static void maybe_die(enum point point, int nth)
{
	if (job->kill_at == point && job->kill_nth == nth)
		kill(getpid(), SIGKILL);
}

static void expect(bool ok, int line)
{
	if (ok)
		return;
	seen->wrong++;
	seen->wrong_line = line;
}

static bool is_stopped(pid_t pid)
{
	struct proc_task t;

	/* One that is being killed is in another state: not stopped, but it won't run either. */
	return proc_task__read(pid, &t) || t.state == 't' || strchr("ZX", t.state);
}

static void on_born(void *arg, pid_t pid, pid_t parent, bool shares_mm)
{
	(void)arg;
	seen->born++;
	seen->shared += shares_mm;
	if (seen->born == 1)
		expect(!parent, __LINE__);
	else
		expect(seen->alive[parent] || job->creators_die, __LINE__);
	/* COMMAND itself is on its way to wait for its byte. */
	expect(!parent || is_stopped(pid), __LINE__);
	expect(!seen->alive[pid], __LINE__);
	seen->alive[pid] = 1;
	maybe_die(POINT_BORN, seen->born);
}

static void on_exec(void *arg, pid_t pid, pid_t former)
{
	(void)arg;
	seen->execs++;
	seen->foreign += former != pid;
	expect(seen->alive[pid], __LINE__);
	expect(is_stopped(pid), __LINE__);
	maybe_die(POINT_EXEC, seen->execs);
}

static bool on_stop(void *arg, pid_t pid, pid_t tid, int sig)
{
	(void)arg;
	seen->asked++;
	expect(seen->alive[pid] && tid > 0 && sig > 0, __LINE__);
	maybe_die(POINT_STOP, seen->asked);
	return job->swallow;
}

static void on_gone(void *arg, pid_t pid, int wait_status)
{
	(void)arg;
	seen->gone++;
	expect(seen->alive[pid] && !WIFSTOPPED(wait_status), __LINE__);
	seen->alive[pid] = 0;
	maybe_die(POINT_GONE, seen->gone);
}

static void forbid_kcmp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = ARRAY_SIZE(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog))
		_exit(100);
}

/* The exit status is there, no tracee is, and no process of the launcher's own is left. */
static bool finish(struct launch *l)
{
	struct pollfd p = { .fd = launch__done_fd(l), .events = POLLIN };

	if (poll(&p, 1, -1) != 1 || !launch__done(l))
		return false;
	if (launch__exit_status(l, &seen->wait_status))
		return false;
	launch__free(l);
	return waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD;
}

/* COMMAND runs: leave it, and see that nobody traces it and that it ends well. */
static bool leave(struct launch *l)
{
	struct proc_ids ids;

	if (launch__exit_status(l, &seen->wait_status) != -EAGAIN || launch__done(l))
		return false;
	launch__free(l);
	if (proc_task__ids(seen->pid, &ids) || ids.tracer)
		return false;
	if (write(STDOUT_FILENO, "left\n", 5) != 5)
		return false;
	return waitpid(seen->pid, &seen->wait_status, 0) == seen->pid &&
	       waitpid(-1, NULL, WNOHANG | __WALL) == -1;
}

/* There when the test is built with the address sanitizer. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static _Noreturn void tool(const struct job *j)
{
	struct launch_ops ops = { on_born, on_exec, on_stop, on_gone, NULL };
	struct launch_opts opts = { .argv = j->argv, .user = j->user };
	struct launch *l;

	job = j;
	if (j->no_kcmp)
		forbid_kcmp();
	seen->err = launch__start(&opts, &ops, &l);
	if (!seen->err) {
		seen->pid = launch__pid(l);
		seen->err = launch__go(l);
		if (!seen->err)
			seen->done = j->free_early ? leave(l) : finish(l);
		else
			launch__free(l);
	}
	snprintf(seen->words, sizeof(seen->words), "%s", err__msg());
	_exit(__lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : 0);
}

/* ---- running ---- */

struct run {
	pid_t pid;
	int in;	 /* its standard input */
	int out; /* its standard output */
};

static struct run start(const struct job *j, bool traced)
{
	int in[2], out[2];
	struct run r;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		exit(1);
	memset(seen, 0, offsetof(struct seen, alive));
	memset(seen->alive, 0, sizeof(seen->alive));
	fflush(NULL);
	r = (struct run){ .pid = fork(), .in = in[1], .out = out[0] };
	if (!r.pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (traced)
			tool(j);
		execvp(j->argv[0], j->argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	return r;
}

/* Reads until the text is there (NULL: to the end); buf keeps what was read. */
static void read_out(const struct run *r, char buf[OUT_SIZE], const char *text)
{
	size_t len = strlen(buf);
	ssize_t n;

	while (!text || !strstr(buf, text)) {
		n = read(r->out, buf + len, OUT_SIZE - 1 - len);
		if (n <= 0)
			return;
		len += (size_t)n;
		buf[len] = '\0';
	}
}

static int end(const struct run *r)
{
	int st = -1;

	close(r->in);
	close(r->out);
	waitpid(r->pid, &st, 0);
	return st;
}

/* Whatever was left behind ends, and there is nothing else. */
static int reap_orphans(pid_t wanted)
{
	int st, found = -1;
	pid_t pid;

	while ((pid = waitpid(-1, &st, __WALL)) > 0)
		if (pid == wanted)
			found = st;
	return found;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run_plain(char *const *argv, char out[OUT_SIZE])
{
	struct job j = { .argv = argv };
	struct run r = start(&j, false);

	*out = '\0';
	read_out(&r, out, NULL);
	return end(&r);
}

/* Traced to the end: the status of COMMAND. */
static int run_traced(const struct job *j, char out[OUT_SIZE])
{
	struct run r = start(j, true);

	*out = '\0';
	read_out(&r, out, NULL);
	CHECK_EQ(end(&r), 0);
	CHECK(seen->done || seen->err);
	CHECK_EQ(seen->wrong ? seen->wrong_line : 0, 0);
	CHECK_EQ(seen->gone, seen->born);
	CHECK_EQ(reap_orphans(0), -1);
	return seen->wait_status;
}

static void check_expected(const char *out)
{
	int processes, shared, execs;
	const char *at = strstr(out, "expect ");

	if (!at)
		return;
	CHECK_EQ(sscanf(at, "expect processes=%d shared=%d execs=%d", &processes, &shared, &execs),
		 3);
	CHECK_EQ(seen->born, processes + 1);
	CHECK_EQ(seen->shared, shared);
	CHECK_EQ(seen->execs, execs + 1);
}

static void check_same_job(const struct job *j)
{
	static char plain[OUT_SIZE], traced[OUT_SIZE];
	double t0 = now(), t1;
	int status = run_plain(j->argv, plain);

	t1 = now();
	CHECK_EQ(run_traced(j, traced), status);
	printf("%-60.60s %6.2f s untraced, %6.2f s traced, %d processes\n",
	       j->argv[1] ? j->argv[1] : j->argv[0], t1 - t0, now() - t1, seen->born);
	CHECK_STR(traced, plain);
	check_expected(traced);
}

#define ARGV(...) ((char *[]){ __VA_ARGS__, NULL })

static void check_same(char **argv)
{
	struct job j = { .argv = argv };

	check_same_job(&j);
}

static void check_workload(const char *name, const char *how, const char *cnt)
{
	char path[4096];

	check_same(ARGV((char *)workload(name, path), (char *)how, (char *)cnt));
}

/* ---- tests ---- */

static void test_simple(void)
{
	char out[OUT_SIZE];
	struct job j = { .argv = ARGV("true") };

	CHECK_EQ(run_traced(&j, out), 0);
	CHECK_EQ(seen->born, 1);
	CHECK_EQ(seen->execs, 1);
	check_same(ARGV("sh", "-c", "exit 7"));
	check_same(ARGV("sh", "-c", "kill -9 $$"));
	check_same(ARGV("sh", "-c", "(exit 3); echo $?; ls / | wc -l; kill -TERM $$"));
	/* No descriptor of ours, and the signals of the caller. */
	check_same(ARGV("ls", "/proc/self/fd"));
	signal(SIGHUP, SIG_IGN);
	/* But for 32 and 33, which are libc's own: they can't be set back to being ignored. */
	check_same(ARGV("sed", "-n", "s/^\\(Sig[BIC].*\\)..\\(.......\\)$/\\1\\2/p",
			"/proc/self/status"));
	signal(SIGHUP, SIG_DFL);
}

static void check_error(char **argv, const char *user, int err, const char *words)
{
	struct job j = { .argv = argv, .user = user };
	char out[OUT_SIZE];

	run_traced(&j, out);
	CHECK_EQ(seen->err, err);
	CHECK_STR(seen->words, words);
	CHECK_EQ(seen->execs, 0);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void test_errors(const char *tmp)
{
	char path[4200], words[4400];

	check_error(ARGV("no-such-program-here"), NULL, -ENOENT,
		    "cannot run 'no-such-program-here': No such file or directory");
	CHECK_EQ(seen->born, 0);
	check_error(ARGV("./no/such"), NULL, -ENOENT,
		    "cannot run './no/such': No such file or directory");
	check_error(ARGV("/etc/passwd"), NULL, -EACCES,
		    "cannot run '/etc/passwd': Permission denied");
	check_error(ARGV("/"), NULL, -EACCES, "cannot run '/': Permission denied");
	CHECK_EQ(seen->born, 0);
	check_error(ARGV("true"), "no-such-user", -EINVAL, "unknown user 'no-such-user'");
	check_error(ARGV(""), NULL, -ENOENT, "cannot run '': No such file or directory");

	snprintf(path, sizeof(path), "%s/lost", tmp);
	snprintf(words, sizeof(words), "cannot run '%.200s': No such file or directory", path);
	write_file(path, "#!/no/such/interpreter\n", 0755);
	check_error(ARGV(path), NULL, -ENOENT, words);
	CHECK_EQ(seen->born, 1);

	snprintf(path, sizeof(path), "%s/script", tmp);
	write_file(path, "echo \"$0\" \"$1\"; exit 5\n", 0755);
	check_same(ARGV(path, "one word"));
	CHECK_EQ(WEXITSTATUS(seen->wait_status), 5);
}

/* A file that may not be executed comes first in PATH, one that may comes later. */
static void test_path(const char *tmp)
{
	char a[4200], b[4200], path[8500];
	char *old = strdup(getenv("PATH"));

	snprintf(a, sizeof(a), "%s/a", tmp);
	snprintf(b, sizeof(b), "%s/b", tmp);
	CHECK_EQ(mkdir(a, 0755), 0);
	CHECK_EQ(mkdir(b, 0755), 0);
	strcat(a, "/launched");
	strcat(b, "/launched");
	write_file(a, "no", 0644);
	snprintf(path, sizeof(path), "/nowhere:%s/a:%s/b", tmp, tmp);
	setenv("PATH", path, 1);
	check_error(ARGV("launched"), NULL, -EACCES, "cannot run 'launched': Permission denied");
	write_file(b, "#!/bin/sh\necho yes\n", 0755);
	check_same(ARGV("launched"));
	CHECK_EQ(WEXITSTATUS(seen->wait_status), 0);
	setenv("PATH", old, 1);
	free(old);
}

static void test_user(const char *tmp)
{
	struct passwd *pw = getpwnam("nobody");
	char path[4096], copy[4200], out[OUT_SIZE], want[4096];
	struct job j = { .argv = ARGV(copy), .user = "nobody" };
	struct statvfs fs;

	if (!pw || getuid()) {
		puts("no user 'nobody' or not root: --user not tested");
		return;
	}
	snprintf(copy, sizeof(copy), "%s/ids", tmp);
	check_same(ARGV("cp", (char *)workload("launch_ids", path), copy));
	CHECK_EQ(chmod(copy, 0755), 0);
	CHECK_EQ(run_traced(&j, out), 0);
	snprintf(want, sizeof(want),
		 "ruid=%d euid=%d rgid=%d groups=1 HOME=%s USER=nobody LOGNAME=nobody SHELL=%s\n",
		 (int)pw->pw_uid, (int)pw->pw_uid, (int)pw->pw_gid, pw->pw_dir, pw->pw_shell);
	CHECK_STR(out, want);

	/* Setuid must work under the tracer. */
	if (statvfs(tmp, &fs) || fs.f_flag & ST_NOSUID) {
		puts("no setuid programs on this file system: not tested");
		return;
	}
	CHECK_EQ(chmod(copy, 04755), 0);
	CHECK_EQ(run_traced(&j, out), 0);
	snprintf(want, sizeof(want), "ruid=%d euid=0 ", (int)pw->pw_uid);
	CHECK(!strncmp(out, want, strlen(want)));
}

static void test_processes(void)
{
	check_workload("launch_tree", "fork", "400");
	check_workload("launch_tree", "vfork", "400");
	check_workload("launch_tree", "spawn", "2000");
	check_workload("launch_tree", "clone", "200");
	check_workload("launch_tree", "tree", "6");
	check_workload("launch_threads", "join", "500");
}

static void test_exec_by_thread(void)
{
	char path[4096];
	struct job j = { .argv = ARGV((char *)workload("launch_threads", path), "both", "6"),
			 .creators_die = true };

	for (int i = 0; i < 10; i++) {
		check_workload("launch_threads", "exec", "20");
		CHECK_EQ(seen->execs, 2);
		CHECK_EQ(seen->foreign, 1);
		CHECK_EQ(seen->born, 1);
		check_workload("launch_threads", "orphan-exec", "0");
		CHECK_EQ(seen->foreign, 1);
		check_same_job(&j);
		CHECK_EQ(seen->foreign, 1);
	}
}

static void test_signals(void)
{
	char path[4096], out[OUT_SIZE];
	struct job j = { .argv = ARGV((char *)workload("launch_signals", path), "both", "50"),
			 .swallow = true };

	check_workload("launch_signals", "kill", NULL);
	check_workload("launch_signals", "stop", NULL);
	check_workload("launch_signals", "own", "100");
	CHECK_EQ(seen->asked, 0);
	check_workload("launch_signals", "urgent", "100");
	CHECK_EQ(seen->asked, 100);
	check_workload("launch_signals", "both", "50");
	CHECK_EQ(seen->asked, 50);
	run_traced(&j, out);
	CHECK_EQ(seen->asked, 50);
	CHECK_STR(out, "seen 50\n");
}

/* Without kcmp(2) the two orders in which a birth is reported are told apart by waiting. */
static void test_no_kcmp(void)
{
	char path[4096];
	struct job j = { .no_kcmp = true };

	workload("launch_tree", path);
	j.argv = ARGV(path, "fork", "200");
	check_same_job(&j);
	j.argv = ARGV(path, "vfork", "200");
	check_same_job(&j);
	j.argv = ARGV(path, "spawn", "200");
	check_same_job(&j);
	j.argv = ARGV(path, "tree", "6");
	check_same_job(&j);
	workload("launch_threads", path);
	j.creators_die = true;
	for (int i = 0; i < 10; i++) {
		j.argv = ARGV(path, "both", "6");
		check_same_job(&j);
	}
}

static void test_daemon(void)
{
	char path[4096], out[OUT_SIZE] = "";
	struct job j = { .argv = ARGV((char *)workload("launch_daemon", path)) };
	struct run r = start(&j, true);
	struct proc_task t;

	/* COMMAND and the process in between go; the daemon is still traced. */
	while (seen->gone < 2)
		usleep(1000);
	CHECK_EQ(seen->born, 3);
	CHECK(!proc_task__read(r.pid, &t) && t.state != 'Z');
	CHECK_EQ(write(r.in, "x", 1), 1);
	read_out(&r, out, NULL);
	CHECK_EQ(end(&r), 0);
	CHECK_STR(out, "daemon\n");
	CHECK(seen->done);
	CHECK_EQ(WEXITSTATUS(seen->wait_status), 9);
	CHECK_EQ(seen->gone, 3);
	reap_orphans(0);
}

static void test_make(const char *tmp)
{
	char file[4200];

	snprintf(file, sizeof(file), "%s/Makefile", tmp);
	write_file(file,
		   "all: $(addprefix t,$(shell seq 60))\n"
		   "t%:\n\t@i=0; while [ $$i -lt 5 ]; do /bin/true | /bin/cat; i=$$((i+1)); done\n"
		   "\t@[ $* != 37 ]\n",
		   0644);
	check_same(ARGV("make", "-s", "-k", "-j8", "-f", file));
	CHECK_EQ(WEXITSTATUS(seen->wait_status), 2);
}

static void test_free_early(void)
{
	char path[4096], out[OUT_SIZE] = "";
	struct job j = { .argv = ARGV((char *)workload("launch_threads", path), "hold", "8"),
			 .free_early = true };
	struct run r = start(&j, true);

	read_out(&r, out, "left\n");
	CHECK_EQ(write(r.in, "x", 1), 1);
	read_out(&r, out, NULL);
	CHECK(strstr(out, "running\n") && strstr(out, "done\n"));
	CHECK_EQ(end(&r), 0);
	CHECK(seen->done);
	CHECK_EQ(WEXITSTATUS(seen->wait_status), 6);

	j.argv = ARGV((char *)workload("launch_tree", path), "fork", "300");
	r = start(&j, true);
	read_out(&r, out, NULL);
	CHECK(strstr(out, "\nok ") != NULL);
	CHECK_EQ(end(&r), 0);
	CHECK(seen->done);
	CHECK_EQ(WEXITSTATUS(seen->wait_status), 897 % 100);
	reap_orphans(0);
}

static void test_free_before_go(void)
{
	struct launch_ops ops = { on_born, on_exec, on_stop, on_gone, NULL };
	struct launch_opts opts = { .argv = ARGV("true") };
	static const struct job none;
	struct launch *l;

	job = &none;
	memset(seen, 0, sizeof(*seen));
	CHECK_EQ(launch__start(&opts, &ops, &l), 0);
	CHECK_EQ(seen->born, 1);
	CHECK(!launch__done(l));
	launch__free(l);
	CHECK_EQ(seen->execs, 0);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	launch__free(NULL);
}

/* kill -9 of the tool, from outside once `mark` was printed or by itself in a callback: COMMAND
 * ends as it does when nobody traces it. */
static void check_survives(struct job *j, const char *mark)
{
	static char plain[OUT_SIZE], out[OUT_SIZE];
	struct run r = start(j, false);
	int want, got;

	CHECK_EQ(write(r.in, "x", 1), 1);
	*plain = '\0';
	read_out(&r, plain, NULL);
	want = end(&r);

	r = start(j, true);
	*out = '\0';
	if (mark) {
		read_out(&r, out, mark);
		kill(r.pid, SIGKILL);
	}
	CHECK_EQ(write(r.in, "x", 1), 1);
	read_out(&r, out, NULL);
	CHECK_EQ(end(&r), SIGKILL);
	got = reap_orphans(seen->pid);
	CHECK_EQ(got, want);
	CHECK_STR(out, plain);
}

static void test_kill(void)
{
	char tree[4096], threads[4096], signals[4096];
	struct job j = { .argv = ARGV((char *)workload("launch_threads", threads), "hold", "8") };

	workload("launch_tree", tree);
	workload("launch_signals", signals);
	check_survives(&j, "running\n");
	for (int i = 0; i < 3; i++) {
		j.argv = ARGV(tree, "fork", "400");
		check_survives(&j, "\n100\n");
		j.argv = ARGV(tree, "vfork", "400");
		check_survives(&j, "\n200\n");
		j.argv = ARGV(tree, "tree", "6");
		check_survives(&j, "expect ");
	}
	for (int nth = 2; nth < 40; nth += 9) {
		j.kill_nth = nth;
		j.kill_at = POINT_BORN;
		j.argv = ARGV(tree, "vfork", "80");
		check_survives(&j, NULL);
		j.argv = ARGV(tree, "tree", "5");
		check_survives(&j, NULL);
		j.kill_at = POINT_EXEC;
		j.argv = ARGV(tree, "spawn", "80");
		check_survives(&j, NULL);
		j.kill_at = POINT_GONE;
		check_survives(&j, NULL);
		/* The signal that was being asked about still arrives. */
		j.kill_at = POINT_STOP;
		j.argv = ARGV(signals, "urgent", "60");
		check_survives(&j, NULL);
	}
}

int main(void)
{
	char self[2048] = "", tmp[] = "/tmp/launch_test.XXXXXX", rm[64];

	/* Everything below waits for something that comes, if it works. */
	alarm(300);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !mkdtemp(tmp) ||
	    chmod(tmp, 0755))
		return 1;
	*strrchr(self, '/') = '\0';
	snprintf(dir, sizeof(dir), "%s/../workload", self);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 1;
	test_simple();
	test_errors(tmp);
	test_path(tmp);
	test_user(tmp);
	test_processes();
	test_exec_by_thread();
	test_signals();
	test_no_kcmp();
	test_daemon();
	test_make(tmp);
	test_free_early();
	test_free_before_go();
	test_kill();
	snprintf(rm, sizeof(rm), "rm -r %s", tmp);
	CHECK_EQ(system(rm), 0);
	return check__done();
}
