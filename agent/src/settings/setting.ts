import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { messageOf, reasonOf } from '../process/errors.ts'

/** A setting of a program. The key of its declaration determines its flag and variable: `dataDir`, `--data-dir`, `GROUNDSTATE_DATA_DIR`. */
export type Setting = {
  /** Parses the text, or `undefined` if the setting is not set. */
  schema: z.ZodType
  doc: string
  /** The default for documentation, if it differs from the schema's. */
  shown?: string
  /** Placeholder of the flag's value, by default `<value>`. */
  value?: string
  /** The flag needs no value. */
  isSwitch?: true
  /** Variables by precedence, if they differ from the one that follows from the name. */
  variables?: readonly string[]
  /** Variables of other programs, with lower precedence. */
  foreign?: readonly string[]
  /** Errors do not show the value. */
  secret?: true
  /** The value is the path of a file that must contain `begin`; checked only if the setting `usedWith`, if any, is on. */
  file?: { begin: string; what: string; usedWith?: string }
}

export type Settings = Record<string, Setting>
export type Values<Declared extends Settings> = { [Name in keyof Declared]: z.infer<Declared[Name]['schema']> }

/** Flags by the names of their settings, and an environment. An empty text counts as not set. */
export type Sources = Record<'flags' | 'env', Record<string, string | undefined>>

export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** The variables of a setting, by precedence, without foreign ones. */
export function variablesOf(name: string, { variables }: Setting): readonly string[] {
  return variables ?? [`GROUNDSTATE_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`]
}

function allVariablesOf(name: string, setting: Setting): string[] {
  return [...variablesOf(name, setting), ...(setting.foreign ?? [])]
}

export function knownVariables(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, setting]) => allVariablesOf(name, setting))
}

/** The text of a setting and its source: a flag takes precedence over variables, and ours over foreign ones. An empty flag unsets. */
export function findText(name: string, setting: Setting, { flags, env }: Sources) {
  const flag = flags[name]
  if (flag === '') return undefined
  if (flag !== undefined) return { text: flag, source: flagOf(name) }
  const source = allVariablesOf(name, setting).find((variable) => env[variable])
  return source === undefined ? undefined : { text: env[source] ?? '', source }
}

/** Reads settings. Returns one line per problem; the values are complete if there is none. */
export function readSettings<Declared extends Settings>(settings: Declared, sources: Sources) {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  const files: ({ named: string; path: string } & NonNullable<Setting['file']>)[] = []
  for (const [name, setting] of Object.entries(settings)) {
    const found = findText(name, setting, sources)
    const { success, data, error } = setting.schema.safeParse(found?.text)
    if (success) values[name] = data
    if (found === undefined) {
      if (!success)
        problems.push(`${variablesOf(name, setting)[0]}: it must be set, here or by ${flagOf(name)}: ${setting.doc}`)
      continue
    }
    const { source, text } = found
    // A URL may contain a password.
    const isShown = setting.secret !== true && !/\/\/.*@/.test(text)
    const shown = isShown ? `${source} ${JSON.stringify(text)}` : source
    if (!success) problems.push(`${shown}: ${messagesOf(error)}`)
    else if (setting.file !== undefined) files.push({ named: `${source} ${text}`, path: text, ...setting.file })
  }
  for (const { named, path, usedWith, ...file } of files) {
    if (usedWith === undefined || values[usedWith] === true) problems.push(...fileProblems(named, path, file))
  }
  return { values: values as Partial<Values<Declared>>, problems }
}

/** Unknown variables with this prefix that are set. */
export function unknownVariables(env: Sources['env'], prefix: string, known: ReadonlySet<string>): string[] {
  return Object.keys(env).filter((variable) => variable.startsWith(prefix) && env[variable] && !known.has(variable))
}

/** The problem of an unknown variable or flag, with the known one that it resembles. */
export function unknownProblem(name: string, known: Iterable<string>): string {
  const candidates = Array.from(known, (other) => ({ other, distance: editDistance(name, other) }))
  const [nearest] = candidates.filter(({ distance }) => distance <= 2).toSorted((a, b) => a.distance - b.distance)
  return `${name}: there is no such setting${nearest === undefined ? '' : `; did you mean ${nearest.other}?`}`
}

/** Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from(`-${to}`, (_, column) => column)
  for (const letter of from) {
    const next = [(row[0] ?? 0) + 1]
    for (const [column, edits] of row.slice(1).entries())
      next.push(Math.min(edits + 1, (next[column] ?? 0) + 1, (row[column] ?? 0) + (letter === to[column] ? 0 : 1)))
    row = next
  }
  return row.at(-1) ?? 0
}

function messagesOf({ issues }: z.ZodError): string {
  return [...new Set(issues.map(({ message }) => message))].join(', ')
}

function fileProblems(named: string, path: string, { begin, what }: { begin: string; what: string }): string[] {
  try {
    return readText(named, path).includes(begin) ? [] : [`${named}: it contains no ${what}`]
  } catch (error) {
    return [messageOf(error)]
  }
}

/** Reads a file. Throws a message that starts with `named`. */
export function readText(named: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${named}: ${reasonOf(error)}`, { cause: error })
  }
}

/** Lists the settings for the help of a command. */
export function settingsHelp(settings: Settings): string {
  const flags = Object.entries(settings).map(([name, { value = '<value>', isSwitch }]) =>
    isSwitch === true ? flagOf(name) : `${flagOf(name)} ${value}`,
  )
  const width = Math.max(...flags.map(({ length }) => length))
  const rows = Object.entries(settings).map(([name, setting], index) => {
    const preset = presetOf(setting)
    const text = `${setting.doc}${preset === '' ? '' : ` (${preset})`}`.replaceAll('`', '')
    const variables = [variablesOf(name, setting)[0], ...(setting.foreign ?? [])].join(', ')
    return `  ${flags[index]?.padEnd(width)} ${text}\n${' '.repeat(width + 3)}${variables}\n`
  })
  return rows.join('')
}

/** Lists the settings as a Markdown table, for docs/SETTINGS.md. */
export function settingsTable(settings: Settings): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const variables = allVariablesOf(name, setting).map((variable) => `\`${variable}\``)
    return `| ${variables.join(', ')} | \`${flagOf(name)}\` | ${presetOf(setting)} | ${setting.doc} |\n`
  })
  return `| Variable | Flag | Default | What it is |\n|---|---|---|---|\n${rows.join('')}`
}

function presetOf({ shown, schema }: Setting): string {
  if (shown !== undefined) return shown
  const { data } = schema.safeParse(undefined)
  if (typeof data === 'boolean') return data ? 'on' : 'off'
  return (typeof data === 'number' || typeof data === 'string') && data !== '' ? `\`${data}\`` : ''
}
