# SPDX-License-Identifier: BSD-3-Clause
# flatten.awk - many TAP streams, each between "#### begin NAME" and "#### end NAME CODE", as one
#
# A stream that reports fewer tests than it planned, or ends with a code and no failed test, is a
# failed test with its name.
function result(text, good, title) {
    n++
    sub(/^(not )?ok *[0-9]* *-? */, "", text)
    print (good ? "ok " : "not ok ") n " - " title text
    fflush()
}

/^#### begin / {
    if (name != "")
        result("", 0, name " did not end")
    name = substr($0, 12)
    planned = -1
    seen = failed = 0
    next
}
/^#### end / {
    code = $NF
    if (planned >= 0 && seen < planned)
        result("", 0, name ": only " seen " of " planned " tests reported, code " code)
    else if (planned < 0)
        result("", 0, name ": no plan, code " code)
    else if (code != 0 && !failed)
        result("", 0, name " ended with code " code)
    name = ""
    next
}
/^1\.\.[0-9]+/ { planned = substr($1, 4) + 0; if (planned == 0) print "# " name ": " $0; next }
/^ok / { seen++; result($0, 1, name ": "); next }
/^not ok / { seen++; failed++; result($0, 0, name ": "); next }
/^#/ { print; next }
/./ { print "# " $0 }
END {
    if (name != "")
        result("", 0, name " did not end")
    print "1.." n + 0
}
