import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/**
 * A setting of a program. The key of its declaration is its name in code, from which its flag and its variable follow: `dataDir`,
 * `--data-dir`, `GROUNDSTATE_DATA_DIR`.
 */
export type Setting = {
  /** Parses the text, or `undefined` where the setting is not given. */
  schema: z.ZodType
  doc: string
  /** The default in documents, where it is not that of the schema. */
  shown?: string
  /** Placeholder of the flag's value, by default `<value>`. */
  value?: string
  /** The flag needs no value. */
  isSwitch?: true
  /** Our variables by precedence, where they are not the one that follows from the name. */
  variables?: readonly string[]
  /** Variables of other programs, which count after ours. */
  foreign?: readonly string[]
  /** Errors do not show the value. */
  secret?: true
  /** The setting is the path of a file, which must have this in it; where `usedWith` names a setting, when that is on. */
  file?: { begin: string; what: string; usedWith?: string }
}

export type Settings = Record<string, Setting>
export type Values<Declared extends Settings> = { [Name in keyof Declared]: z.infer<Declared[Name]['schema']> }

/** The texts of flags by the names of their settings, and an environment. An empty text counts as not set. */
export type Sources = { flags: Record<string, string | undefined>; env: Record<string, string | undefined> }

export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Our variables of a setting, by precedence. */
export function variablesOf(name: string, { variables }: Setting): readonly string[] {
  return variables ?? [`GROUNDSTATE_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`]
}

/** All variables that count for these settings. */
export function knownVariables(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, setting]) => [
    ...variablesOf(name, setting),
    ...(setting.foreign ?? []),
  ])
}

/**
 * The text of a setting and where it comes from: a flag wins over a variable of ours, and that over one of another program. An empty flag
 * wins too, and sets nothing.
 */
export function findText(name: string, setting: Setting, { flags, env }: Sources) {
  const flag = flags[name]
  if (flag === '') return undefined
  if (flag !== undefined) return { text: flag, source: flagOf(name) }
  const source = [...variablesOf(name, setting), ...(setting.foreign ?? [])].find((variable) => env[variable])
  return source === undefined ? undefined : { text: env[source] ?? '', source }
}

/** Reads settings. What is wrong with them is a line each, and the values are complete only where there is none. */
export function readSettings<Declared extends Settings>(settings: Declared, sources: Sources) {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  const files: ({ named: string; path: string } & NonNullable<Setting['file']>)[] = []
  for (const [name, setting] of Object.entries(settings)) {
    const found = findText(name, setting, sources)
    const read = setting.schema.safeParse(found?.text)
    if (read.success) values[name] = read.data
    if (found === undefined) {
      if (!read.success)
        problems.push(`${variablesOf(name, setting)[0]}: it must be set, here or by ${flagOf(name)}: ${setting.doc}`)
      continue
    }
    const { source, text } = found
    // An address may have a password in it.
    const isShown = setting.secret !== true && !/\/\/.*@/.test(text)
    const shown = isShown ? `${source} ${JSON.stringify(text)}` : source
    if (!read.success) problems.push(`${shown}: ${messagesOf(read.error)}`)
    else if (setting.file !== undefined) files.push({ named: `${source} ${text}`, path: text, ...setting.file })
  }
  for (const { named, path, usedWith, ...file } of files) {
    if (usedWith === undefined || values[usedWith] === true) problems.push(...fileProblems(named, path, file))
  }
  return { values: values as Partial<Values<Declared>>, problems }
}

/** The variables that are set, begin with `prefix` and are not known. */
export function unknownVariables(env: Sources['env'], prefix: string, known: ReadonlySet<string>): string[] {
  return Object.keys(env).filter((variable) => variable.startsWith(prefix) && env[variable] && !known.has(variable))
}

function messagesOf({ issues }: z.ZodError): string {
  return [...new Set(issues.map(({ message }) => message))].join(', ')
}

function fileProblems(named: string, path: string, { begin, what }: { begin: string; what: string }): string[] {
  try {
    return readText(named, path).includes(begin) ? [] : [`${named}: it holds no ${what}`]
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

const UNREADABLE: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a directory',
}

/** The text of a file. Throws what is wrong with it, after `named`. */
export function readText(named: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw new Error(`${named}: ${UNREADABLE[code] ?? String(error)}`, { cause: error })
  }
}
