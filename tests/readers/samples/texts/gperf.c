/* ANSI-C code produced by gperf version 3.1 */
/* Command-line: gperf -L ANSI-C -t -I --omit-struct-type  */
/* Computed positions: -k'' */

#include <string.h>

#define TOTAL_KEYWORDS 2
#define MIN_WORD_LENGTH 6
#define MAX_WORD_LENGTH 10
#define MIN_HASH_VALUE 6
#define MAX_HASH_VALUE 10
/* maximum key range = 5, duplicates = 0 */

#ifdef __GNUC__
__inline
#else
#ifdef __cplusplus
inline
#endif
#endif
/*ARGSUSED*/
static unsigned int
hash (register const char *str, register size_t len)
{
  return len;
}

struct station *
in_word_set (register const char *str, register size_t len)
{
  static struct station wordlist[] =
    {
      {""}, {""}, {""}, {""}, {""}, {""},
      {"Corley", 97},
      {""}, {""}, {""},
      {"Kingfisher", 142}
    };

  if (len <= MAX_WORD_LENGTH && len >= MIN_WORD_LENGTH)
    {
      register unsigned int key = hash (str, len);

      if (key <= MAX_HASH_VALUE)
        {
          register const char *s = wordlist[key].name;

          if (*str == *s && !strcmp (str + 1, s + 1))
            return &wordlist[key];
        }
    }
  return 0;
}

