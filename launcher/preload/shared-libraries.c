/* SPDX-License-Identifier: BSD-3-Clause */
/* shared-libraries.c - the shared libraries of a program that are not the system's
 *
 * This reads what ld.so would do, and runs nothing: an object's DT_NEEDED names are looked for in
 * its DT_RPATH and those of the objects that loaded it (unless it has a DT_RUNPATH),
 * LD_LIBRARY_PATH, its DT_RUNPATH, the directories of /etc/ld.so.conf, and the system's. */
#include "launcher/preload/shared-libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/must.h"
#include "common/text/text.h"
#include "common/text/words.h"

enum {
    OBJECTS_MAX = 1024,
    NEEDED_MAX = 512,
    CONF_DEPTH = 4,
};

#define SYSTEM_DIRECTORIES "/lib64:/usr/lib64:/lib:/usr/lib"

struct object {
    char *path;
    int class, machine;
    size_t loader; /* the object that needs it; of the program: itself */
    char *rpath, *runpath, *origin;
    char **needed;
    size_t nneeded;
    char *name; /* by which it is needed; NULL: the program */
    int is_system;
};

struct search {
    struct object all[OBJECTS_MAX];
    size_t n;
    const char *library_path; /* NULL: none */
    char *configured;         /* directories of ld.so.conf, with ':' */
};

/* ---- what an object says --------------------------------------------------------------------- */

static void object_free(struct object *o)
{
    words_free(o->needed);
    free(o->path);
    free(o->rpath);
    free(o->runpath);
    free(o->origin);
    free(o->name);
}

static void keep(char **to, const char *text)
{
    free(*to);
    *to = must(strdup(text));
}

static int take_entry(struct object *o, Elf *elf, size_t strings, const GElf_Dyn *d)
{
    const char *text = NULL;
    if (d->d_tag == DT_NEEDED || d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH)
        text = elf_strptr(elf, strings, d->d_un.d_val);
    if (!text)
        return 0;
    if (d->d_tag == DT_NEEDED && o->nneeded == NEEDED_MAX)
        return -1;
    keep(d->d_tag == DT_RPATH     ? &o->rpath
         : d->d_tag == DT_RUNPATH ? &o->runpath
                                  : &o->needed[o->nneeded++],
         text);
    return 0;
}

static int read_dynamic(struct object *o, Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    o->needed = must(calloc(NEEDED_MAX + 1, sizeof(*o->needed)));
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC || !header.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Dyn d;
        for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++)
            if (take_entry(o, elf, header.sh_link, &d) < 0)
                return -1;
    }
    return 0;
}

/* 1: an ELF object of which all is known now; 0: something else. */
static int object_read(struct object *o, const char *path)
{
    GElf_Ehdr header;
    int ok = 0;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header)) {
        AUTO_FREE char *whole = realpath(path, NULL);
        o->class = header.e_ident[EI_CLASS];
        o->machine = header.e_machine;
        ok = whole && read_dynamic(o, elf) == 0;
        if (ok) {
            keep(&o->path, path);
            o->origin = take_ptr(whole);
            *strrchr(o->origin, '/') = 0;
        }
    }
    elf_end(elf);
    return ok;
}

/* ---- where libraries are --------------------------------------------------------------------- */

static void read_configuration(char **list, const char *file, unsigned depth)
{
    AUTO_FILE FILE *f = fopen(file, "re");
    char line[1024], word[1024];
    while (f && fgets(line, sizeof(line), f)) {
        glob_t found;
        line[strcspn(line, "#\n")] = 0;
        if (sscanf(line, " include %1023s", word) == 1) {
            /* a relative one is beside the file, as Red Hat has it */
            AUTO_FREE char *pattern = text_format(
                "%.*s%s", *word == '/' ? 0 : (int)(strrchr(file, '/') + 1 - file), file, word);
            if (depth < CONF_DEPTH && glob(pattern, 0, NULL, &found) == 0) {
                for (size_t i = 0; i < found.gl_pathc; i++)
                    read_configuration(list, found.gl_pathv[i], depth + 1);
                globfree(&found);
            }
        } else if (sscanf(line, " %1023s", word) == 1 && word[0] == '/') {
            text_append(list, ":", "%s", word);
        }
    }
}

/* One directory of a path, with $ORIGIN put in; NULL: not one that is understood. */
static char *expand(const char *part, size_t len, const char *origin)
{
    static const char *const forms[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(forms[i]);
        if (len >= n && memcmp(part, forms[i], n) == 0)
            return text_format("%s%.*s", origin, (int)(len - n), part + n);
    }
    if (memchr(part, '$', len))
        return NULL;
    return must(strndup(len ? part : ".", len ? len : 1));
}

static int try_at(const char *directory, const char *name, const struct object *needs,
                  struct object *ret)
{
    AUTO_FREE char *path = text_format("%s/%s", directory, name);
    struct object found = {0};
    if (object_read(&found, path) && found.class == needs->class &&
        found.machine == needs->machine) {
        *ret = found;
        return 1;
    }
    object_free(&found);
    return 0;
}

/* list: directories with ':' or ';' between them; NULL: none. */
static int look_in(const char *list, const char *origin, const char *name,
                   const struct object *needs, struct object *ret)
{
    for (; list; list = strpbrk(list, ":;") ? strpbrk(list, ":;") + 1 : NULL) {
        AUTO_FREE char *directory = expand(list, strcspn(list, ":;"), origin);
        if (directory && try_at(directory, name, needs, ret))
            return 1;
    }
    return 0;
}

static int look_in_rpaths(struct search *s, size_t who, const char *name, struct object *ret)
{
    for (size_t at = who;; at = s->all[at].loader) {
        const struct object *o = &s->all[at];
        if (o->rpath && !o->runpath && look_in(o->rpath, o->origin, name, &s->all[who], ret))
            return 1;
        if (s->all[at].loader == at)
            return 0;
    }
}

static int find(struct search *s, size_t who, const char *name, struct object *ret)
{
    const struct object *o = &s->all[who];
    if (!o->runpath && look_in_rpaths(s, who, name, ret))
        return 1;
    return look_in(s->library_path, o->origin, name, o, ret) ||
           look_in(o->runpath, o->origin, name, o, ret) ||
           look_in(s->configured, o->origin, name, o, ret) ||
           look_in(SYSTEM_DIRECTORIES, o->origin, name, o, ret);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_in_system(const char *path)
{
    for (const char *at = SYSTEM_DIRECTORIES; at;
         at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        size_t n = strcspn(at, ":");
        if (strncmp(path, at, n) == 0 && (!path[n] || path[n] == '/'))
            return true;
    }
    return false;
}

/* Links of the system lead elsewhere, and links from elsewhere into the system. */
static bool is_system(const struct object *o)
{
    return is_in_system(o->path) || is_in_system(o->origin);
}

static bool is_known(const struct search *s, const char *name)
{
    for (size_t i = 1; i < s->n; i++)
        if (strcmp(s->all[i].name, name) == 0)
            return true;
    return false;
}

static int add(struct search *s, size_t who, const char *name, struct error *err)
{
    struct object found = {0};
    if (is_known(s, name) || strchr(name, '/')) /* a path is not looked for, and is not sent */
        return 0;
    if (s->n == OBJECTS_MAX)
        return error_set(err, E2BIG, "'%s' needs more than %d libraries", s->all[0].path,
                         OBJECTS_MAX);
    if (!find(s, who, name, &found))
        return error_set(err, ENOENT, "'%s' needs the library '%s', which is not found here",
                         s->all[who].path, name);
    found.loader = who;
    found.is_system = is_system(&found);
    free(found.name);
    found.name = must(strdup(name));
    s->all[s->n++] = found;
    return 0;
}

/* Libraries that the system's libraries need are the system's. */
static int walk(struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; !s->all[i].is_system && k < s->all[i].nneeded; k++)
            if (add(s, i, s->all[i].needed[k], err) < 0)
                return -1;
    return 0;
}

static int give(const struct search *s, library_fn take, void *arg, struct error *err)
{
    for (size_t i = 1; i < s->n; i++)
        if (!s->all[i].is_system && take(arg, s->all[i].name, s->all[i].path, err) < 0)
            return -1;
    return 0;
}

int libraries_find(const char *path, const char *library_path, library_fn take, void *arg,
                   struct error *err)
{
    AUTO_FREE struct search *s = must(calloc(1, sizeof(*s)));
    int rc = 0;
    elf_version(EV_CURRENT);
    s->library_path = library_path && *library_path ? library_path : NULL;
    if (object_read(&s->all[0], path)) {
        s->n = 1;
        read_configuration(&s->configured, "/etc/ld.so.conf", 0);
        rc = walk(s, err) < 0 ? -1 : give(s, take, arg, err);
    } else {
        object_free(&s->all[0]);
    }
    for (size_t i = 0; i < s->n; i++)
        object_free(&s->all[i]);
    free(s->configured);
    return rc;
}

char *libraries_needed(const char *path, const char *const prefixes[])
{
    AUTO(object_free) struct object o = {0};
    elf_version(EV_CURRENT);
    if (object_read(&o, path))
        for (size_t i = 0; i < o.nneeded; i++)
            if (begins_with_any(o.needed[i], prefixes))
                return must(strdup(o.needed[i]));
    return NULL;
}

bool program_calls(const char *path, const char *const prefixes[])
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    bool calls = false;
    while (elf && !calls && (section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; !calls && data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            calls = name && symbol.st_shndx == SHN_UNDEF && begins_with_any(name, prefixes);
        }
    }
    elf_end(elf);
    return calls;
}
