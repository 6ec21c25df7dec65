/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds COMMAND in PATH as execvp(3) does, prepares another user's identity as login(1) does, and
 * in the forked child becomes both. The idea: look-ups that allocate or lock happen before fork().
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "proc/command.h"

#define DEFAULT_PATH "/bin:/usr/bin" /* confstr(_CS_PATH), what execvp(3) takes without PATH */
#define MAX_GROUPS   65536	     /* NGROUPS_MAX */

/* As another user the file may be executable for us and not for them, or the other way around:
 * then only exec itself can tell. */
static int check_executable(const char *path, bool other_user)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return -EACCES;
	if (!other_user && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -errno;
	return 0;
}

/* The first executable file of that name in PATH; a file that may not be executed is remembered,
 * but a later one that may be wins. */
static int search_path(const char *name, bool other_user, char **found)
{
	const char *dir = getenv("PATH"), *end;
	int err, worst = -ENOENT;

	if (!dir)
		dir = DEFAULT_PATH;
	for (;; dir = end + 1) {
		end = strchrnul(dir, ':');
		/* An empty element is the current directory. */
		if (asprintf(found, "%.*s%s%s", (int)(end - dir), dir, end > dir ? "/" : "./",
			     name) < 0) {
			*found = NULL;
			return -ENOMEM;
		}
		err = check_executable(*found, other_user);
		if (!err)
			return 0;
		free(*found);
		*found = NULL;
		if (err == -EACCES)
			worst = err;
		if (!*end)
			return worst;
	}
}

static int find_file(struct command *c, const char *name)
{
	int err;

	if (!strchr(name, '/')) {
		err = *name ? search_path(name, c->other_user, &c->path) : -ENOENT;
	} else {
		c->path = strdup(name);
		err = c->path ? check_executable(c->path, c->other_user) : -ENOMEM;
	}
	if (!err)
		return 0;
	err__fail(err, "cannot run '%s': %s", name, strerror(-err));
	if (err == -ENOENT && *name && !strchr(name, '/') && !check_executable(name, c->other_user))
		err__hint("for the one in this directory say './%s'", name);
	return err;
}

static int add_groups(struct command *c, const struct passwd *pw)
{
	gid_t *groups;

	c->group_cnt = 64;
	for (;;) {
		groups = reallocarray(c->groups, (size_t)c->group_cnt, sizeof(*groups));
		if (!groups)
			return -ENOMEM;
		c->groups = groups;
		/* When they don't fit it says how many there are. */
		if (getgrouplist(pw->pw_name, pw->pw_gid, c->groups, &c->group_cnt) >= 0)
			return 0;
		if (c->group_cnt <= 0 || c->group_cnt > MAX_GROUPS)
			return -E2BIG;
	}
}

/* True when the environment entry is one of the four variables that belong to a user. */
static bool is_home_var(const char *entry)
{
	static const char *const names[] = { "HOME=", "USER=", "LOGNAME=", "SHELL=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(entry, names[i], strlen(names[i])))
			return true;
	return false;
}

static int make_env(struct command *c, const struct passwd *pw)
{
	size_t cnt = 0, to = 0;

	if (asprintf(&c->home_vars[0], "HOME=%s", pw->pw_dir) < 0)
		c->home_vars[0] = NULL;
	if (asprintf(&c->home_vars[1], "USER=%s", pw->pw_name) < 0)
		c->home_vars[1] = NULL;
	if (asprintf(&c->home_vars[2], "LOGNAME=%s", pw->pw_name) < 0)
		c->home_vars[2] = NULL;
	if (asprintf(&c->home_vars[3], "SHELL=%s", *pw->pw_shell ? pw->pw_shell : "/bin/sh") < 0)
		c->home_vars[3] = NULL;
	while (environ && environ[cnt])
		cnt++;
	c->envp = calloc(cnt + ARRAY_SIZE(c->home_vars) + 1, sizeof(*c->envp));
	if (!c->envp)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		if (!is_home_var(environ[i]))
			c->envp[to++] = environ[i];
	for (size_t i = 0; i < ARRAY_SIZE(c->home_vars); i++) {
		if (!c->home_vars[i])
			return -ENOMEM;
		c->envp[to++] = c->home_vars[i];
	}
	return 0;
}

static int find_user(struct command *c, const char *name)
{
	CLEANUP(free__p) char *buf = malloc(65536);
	struct passwd pw, *found;
	int err;

	if (!buf)
		return err__fail(-ENOMEM, "out of memory");
	err = getpwnam_r(name, &pw, buf, 65536, &found);
	if (err || !found)
		return err__fail(-EINVAL, "unknown user '%s'%s%s", name, err ? ": " : "",
				 err ? strerror(err) : "");
	c->other_user = true;
	c->uid = pw.pw_uid;
	c->gid = pw.pw_gid;
	err = add_groups(c, &pw);
	if (!err)
		err = make_env(c, &pw);
	if (err)
		return err__fail(err, "cannot run as user '%s': %s", name, strerror(-err));
	return 0;
}

static int make_sh_argv(struct command *c)
{
	size_t cnt = 0;

	while (c->argv[cnt])
		cnt++;
	c->sh_argv = calloc(cnt + 2, sizeof(*c->sh_argv));
	if (!c->sh_argv)
		return err__fail(-ENOMEM, "out of memory");
	c->sh_argv[0] = (char *)"/bin/sh";
	c->sh_argv[1] = c->path;
	for (size_t i = 1; i < cnt; i++)
		c->sh_argv[i + 1] = c->argv[i];
	return 0;
}

int command__init(struct command *c, const struct launch_opts *opts)
{
	int err;

	*c = (struct command){ .argv = opts->argv };
	if (!opts->argv || !opts->argv[0])
		return err__fail(-EINVAL, "no command to run");
	if (opts->nofile) {
		c->limits_nofile = true;
		c->nofile = *opts->nofile;
	}
	err = opts->user ? find_user(c, opts->user) : 0;
	if (!err)
		err = find_file(c, opts->argv[0]);
	if (!err)
		err = make_sh_argv(c);
	if (err)
		command__fini(c);
	return err;
}

void command__fini(struct command *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->home_vars); i++)
		free(c->home_vars[i]);
	if (c->other_user)
		free(c->envp);
	free(c->groups);
	free(c->sh_argv);
	free(c->path);
	*c = (struct command){ 0 };
}

/* The tool's handlers must not run in the child between the moment its signals are unblocked and
 * exec. What was ignored stays ignored, as exec leaves it. */
static void drop_handlers(void)
{
	struct sigaction sa;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &sa) || sa.sa_handler == SIG_IGN ||
		    sa.sa_handler == SIG_DFL)
			continue;
		sa = (struct sigaction){ .sa_handler = SIG_DFL };
		sigaction(sig, &sa, NULL);
	}
}

/* System calls themselves: glibc's wrappers would signal threads that this child doesn't have. */
static int become_user(const struct command *c)
{
	if (syscall(SYS_setgroups, c->group_cnt, c->groups))
		return -errno;
	if (syscall(SYS_setresgid, c->gid, c->gid, c->gid))
		return -errno;
	if (syscall(SYS_setresuid, c->uid, c->uid, c->uid))
		return -errno;
	return 0;
}

static int run(const struct command *c)
{
	char *const *envp = c->envp ? c->envp : environ;

	execve(c->path, c->argv, envp);
	if (errno == ENOEXEC)
		execve("/bin/sh", c->sh_argv, envp);
	return -errno;
}

_Noreturn void command__exec(const struct command *c, int go_fd, int report_fd)
{
	struct command_error e = { 0 };
	ssize_t n;
	char go;

	drop_handlers();
	if (read(go_fd, &go, 1) != 1)
		_exit(127);
	if (c->limits_nofile)
		setrlimit(RLIMIT_NOFILE, &c->nofile);
	if (c->other_user) {
		e.err = become_user(c);
		e.as_user = e.err != 0;
	}
	if (!e.err) {
		sigprocmask(SIG_SETMASK, &c->mask, NULL);
		e.err = run(c);
	}
	n = write(report_fd, &e, sizeof(e));
	_exit(n == sizeof(e) && e.err == -ENOENT ? 127 : 126);
}
