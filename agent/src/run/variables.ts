import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { type RunDirectory, chownToRun } from '../isolation/run-directory.ts'
import { readConfined } from '../process/confined-file.ts'
import { parseJson } from '../server/connection.ts'

type DeclaredVariables = Map<string, { ephemeral: boolean }>

/**
 * Writes a job's terraform variables as files and returns the arguments for the engine. Unlike a `TF_VAR_` variable, `-var-file` takes
 * precedence over `terraform.tfvars` and `*.auto.tfvars`; unlike `-var`, it keeps values out of the process list.
 *
 * Strings in a JSON variable file are not templates, so a literal value reaches the engine unchanged. Undeclared variables are left out,
 * as the engine does with `TF_VAR_` variables.
 */
export function writeVariables(
  directory: Pick<RunDirectory, 'variables' | 'user'>,
  { variables, own }: { variables: AgentJob['variables']; own: Record<string, object> },
  declared: DeclaredVariables,
) {
  const set = variables.filter(({ category, key }) => category === 'terraform' && !Object.hasOwn(own, key))
  const used = set.filter(({ key }) => declared.has(key))
  const literals = [
    ...used.filter(({ hcl }) => !hcl).map(({ key, value }) => [key, value]),
    ...Object.entries(own).filter(([key]) => declared.has(key)),
  ]
  const expressions = used.filter(({ hcl }) => hcl).map(({ key, value }) => `${key} = ${value}\n`)
  // An HCL value may contain a second definition, which must not override a variable that precedence has decided: the engine rejects two
  // of a name in one file, and the last of two files takes precedence.
  const files = [
    { name: 'hcl.tfvars', text: expressions.join(''), count: expressions.length },
    { name: 'literal.tfvars.json', text: JSON.stringify(Object.fromEntries(literals)), count: literals.length },
  ].filter(({ count }) => count > 0)
  return files.map(({ name, text }) => {
    const path = join(directory.variables, name)
    writeFileSync(path, text, { mode: 0o600 })
    chownToRun(path, directory)
    return `-var-file=${path}`
  })
}

/** Recognises strings, comments and heredocs, but is not a full parser: the engine reports errors in invalid files. */
export async function readDeclaredVariables(
  workingDirectory: string,
  bounds: Pick<RunDirectory, 'root' | 'user'>,
): Promise<DeclaredVariables> {
  const names = readdirSync(workingDirectory).filter((name) => /^[^.][^]*\.(tf|tofu)(\.json)?$/.test(name))
  const declared: DeclaredVariables = new Map()
  // One at a time: together they may be larger than the memory.
  for (const name of names) {
    const text = (await readConfined(join(workingDirectory, name), bounds))?.toString() ?? ''
    for (const variable of name.endsWith('.json') ? declaredInJson(text) : declaredInHcl(text))
      declared.set(...variable)
  }
  return declared
}

const jsonBlocks = z.record(z.string(), z.unknown())
const jsonVariables = z.object({ variable: z.union([jsonBlocks, z.array(jsonBlocks)]).optional() })
const jsonVariable = z.object({ ephemeral: z.boolean().optional() })

export function declaredInJson(text: string): DeclaredVariables {
  // A body may also be a list of bodies, which are merged.
  const { data } = z.union([jsonVariables, z.array(jsonVariables)]).safeParse(parseJson(text))
  const bodies = data === undefined ? [] : [data].flat()
  const groups = bodies.flatMap(({ variable = [] }) => (Array.isArray(variable) ? variable : [variable]))
  return new Map(
    groups
      .flatMap((group) => Object.entries(group))
      .map(([name, body]) => {
        const variable = jsonVariable.safeParse(Array.isArray(body) ? body[0] : body)
        return [name, { ephemeral: variable.data?.ephemeral ?? false }]
      }),
  )
}

/** Tokens, in this order: comments, heredocs, strings, brackets, words. */
const TOKEN = /#.*|\/\/.*|\/\*[^]*?\*\/|<<-?([\p{L}_][\p{L}\p{N}_-]*)\r?\n|"|[{}]|[\p{L}_][\p{L}\p{N}_-]*|=/gu

export function declaredInHcl(text: string): DeclaredVariables {
  const declared: DeclaredVariables = new Map()
  let depth = 0
  /** The last tokens of this nesting level: `variable`, `"name"` or `ephemeral`, `=`. */
  let recent: string[] = []
  let inside: string | undefined
  const tokens = new RegExp(TOKEN)
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const [token, heredoc] = match
    if (token.startsWith('#') || token.startsWith('/')) continue
    if (heredoc !== undefined) {
      tokens.lastIndex = endOfHeredoc(text, tokens.lastIndex, heredoc)
    } else if (token === '"') {
      const end = endOfString(text, tokens.lastIndex)
      recent.push(text.slice(tokens.lastIndex, end - 1))
      tokens.lastIndex = end
    } else if (token === '{') {
      const [verb, name] = recent.slice(-2)
      if (depth === 0 && verb === 'variable' && name !== undefined) {
        inside = name
        declared.set(name, { ephemeral: false })
      }
      depth += 1
      recent = []
    } else if (token === '}') {
      depth -= 1
      if (depth === 0) inside = undefined
      recent = []
    } else {
      if (depth === 1 && inside !== undefined && token === 'true' && recent.slice(-2).join('') === 'ephemeral=')
        declared.set(inside, { ephemeral: true })
      recent.push(token)
    }
  }
  return declared
}

/** The position after a string's closing quote; strings may contain templates that contain strings. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') return at + 1
    if (char === '\\') at += 1
    else if ((char === '$' || char === '%') && text[at + 1] === '{') {
      if (text[at - 1] === char) at += 1
      else at = endOfTemplate(text, at + 2) - 1
    }
  }
  return text.length
}

function endOfTemplate(text: string, start: number): number {
  let depth = 1
  for (let at = start; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') at = endOfString(text, at + 1) - 1
    else if (char === '{') depth += 1
    else if (char === '}') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

function endOfHeredoc(text: string, start: number, mark: string): number {
  for (let at = start; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline
    if (text.slice(at, end).trim() === mark) return end
    at = end + 1
  }
  return text.length
}
