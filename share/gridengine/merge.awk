# SPDX-License-Identifier: BSD-3-Clause
# merge.awk - replaces settings in one file by those of another
#
#   SGE_SINGLE_LINE=1 qconf -sconf | awk -f merge.awk configuration - >global && qconf -Mconf global
#
# Both files have lines "NAME VALUE". Settings that the second file lacks are added to it.
/^#/ || NF == 0 { next }
NR == FNR { setting[$1] = $0; next }
$1 in setting { $0 = setting[$1]; delete setting[$1] }
{ print }
END { for (name in setting) print setting[name] }
