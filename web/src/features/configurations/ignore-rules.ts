/** The rules of the CLI before those of `.terraformignore`. */
const DEFAULT_RULES = ['.git/', '.terraform/', '!.terraform/modules/']

/**
 * What leaves a path out of an upload: `.git`, `.terraform` or `.terraformignore`; undefined if nothing does. `text` is the content
 * of `.terraformignore`, in which later rules override earlier ones.
 */
export function ignoreRules(text = ''): (path: string) => string | undefined {
  const rules = [
    ...DEFAULT_RULES.flatMap((line) => readRule(line).map((rule) => ({ ...rule, source: line.replace('/', '') }))),
    ...text
      .split(/\r?\n/)
      .flatMap((line) => readRule(line.trim()).map((rule) => ({ ...rule, source: '.terraformignore' }))),
  ]
  return (path) => {
    const rule = rules.findLast(({ pattern }) => pattern.test(path))
    return rule?.isIgnored ? rule.source : undefined
  }
}

function readRule(line: string) {
  if (line === '' || line.startsWith('#')) return []
  const isIgnored = !line.startsWith('!')
  const rule = isIgnored ? line : line.slice(1).trim()
  // Without a leading slash, a rule applies in every directory, and to everything below a match.
  const start = rule.startsWith('/') ? '^' : '^(?:.*/)?'
  const body = rule.replace(/^\//, '').replace(/\/?(?:\*\*)?$/, '')
  if (body === '') return []
  const isDirectory = /\/(?:\*\*)?$/.test(rule)
  return [{ isIgnored, pattern: new RegExp(`${start}${regexOf(body)}${isDirectory ? '/' : '(?:/|$)'}`) }]
}

function regexOf(glob: string) {
  return glob.replaceAll(/\*\*\/?|[*?]|[^*?]+/g, (part) => {
    if (part.startsWith('**')) return part === '**' ? '.*' : '(?:.*/)?'
    if (part === '*') return '[^/]*'
    return part === '?' ? '[^/]' : part.replaceAll(/[\\^$.+()|[\]{}]/g, String.raw`\$&`)
  })
}
