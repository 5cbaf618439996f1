import { RE2JS } from 're2js'

/** Special parts of a glob pattern; everything else is literal. */
const TOKEN = /(?<=^|[/{,])(\*\*(?:\/|(?=[,}])|$))|\*+|\?|\[(!|\^)?(\]?[^\]]*)\]|[[\]{},]|\\(.)|[^*?[\]{},\\]+|\\$/gs

/**
 * The paths that a glob pattern matches, from the root of the repository: `**` matches any number of directories, `*` and `?` for
 * characters other than slashes, and there are `[a-z]`, `[!a-z]` and `{a,b}`. Matching takes linear time, since patterns come from users.
 * Throws an `Error` for brackets and braces without their counterpart, and for ranges such as `[z-a]`.
 */
export function triggerPattern(pattern: string): (path: string) => boolean {
  const regex = RE2JS.compile(`^${regexOf(pattern.replace(/^\/+/, '').replace(/\/$/, '/**'))}$`)
  return (path) => regex.matcher(path).find()
}

function regexOf(glob: string) {
  let depth = 0
  let regex = ''
  for (const [token, globstar, negation, members, escaped] of glob.matchAll(TOKEN)) {
    if (token === '{') depth += 1
    if (token === '}') depth -= 1
    if (depth < 0 || token === '[' || token === ']') throw unbalanced(token)
    if (globstar !== undefined) regex += globstar === '**' ? '.*' : '(?:[^/]+/)*'
    else if (escaped !== undefined) regex += RE2JS.quote(escaped)
    else if (members === undefined) regex += WILDCARDS[token] ?? wildcardOf(token, depth)
    else regex += `[${negation === undefined ? '' : '^/'}${members.replaceAll(/[\\[\]^]/g, String.raw`\$&`)}]`
  }
  if (depth > 0) throw unbalanced('{')
  return regex
}

const WILDCARDS: Record<string, string | undefined> = { '?': '[^/]', '{': '(?:', '}': ')' }

function wildcardOf(token: string, depth: number) {
  if (token.startsWith('*')) return '[^/]*'
  return token === ',' && depth > 0 ? '|' : RE2JS.quote(token)
}

function unbalanced(token: string) {
  return new SyntaxError(`it has a ${token} without its counterpart`)
}
