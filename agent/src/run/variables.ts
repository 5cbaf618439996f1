import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import { z } from 'zod'
import { type RunDirectory, handOver } from '../isolation/run-directory.ts'
import { readConfined } from '../process/confined-file.ts'

/**
 * Writes a job's terraform variables as files and answers the arguments that make the engine read them. A `-var-file` beats
 * the configuration's own `terraform.tfvars` and `*.auto.tfvars`; and unlike `-var` it keeps values out of the process list.
 *
 * Strings of a JSON variable file are no templates, so that a literal value reaches the engine unchanged. What the
 * configuration does not declare is left out, as the engine itself does with `TF_VAR_` variables.
 */
export function writeVariables(
  directory: Pick<RunDirectory, 'variables' | 'user'>,
  variables: AgentJob['variables'],
  declared: DeclaredVariables,
) {
  const wanted = variables.filter(({ category, key }) => category === 'terraform' && declared.has(key))
  const literals = wanted.filter(({ hcl }) => !hcl).map(({ key, value }) => [key, value])
  const expressions = wanted.filter(({ hcl }) => hcl).map(({ key, value }) => `${key} = ${value}\n`)
  // Text that calls itself an expression may hold a second definition. In one file the engine refuses two of a name, and of
  // two files the last one wins: so it can't take the place of a variable that precedence has decided about.
  const files = [
    ...(expressions.length === 0 ? [] : [{ name: 'hcl.tfvars', text: expressions.join('') }]),
    ...(literals.length === 0
      ? []
      : [{ name: 'literal.tfvars.json', text: JSON.stringify(Object.fromEntries(literals)) }]),
  ]
  return files.map(({ name, text }) => {
    const path = join(directory.variables, name)
    writeFileSync(path, text, { mode: 0o600 })
    handOver(path, directory)
    return `-var-file=${path}`
  })
}

/** The variables that a configuration declares, by name. */
type DeclaredVariables = Map<string, { ephemeral: boolean }>

/**
 * The variables of the root module in a directory. A quick reading that knows strings, comments and heredocs, no full parser: a
 * file that is not valid adds nothing, and the engine will say what is wrong with it.
 */
export async function readDeclaredVariables(
  workingDirectory: string,
  bounds: Pick<RunDirectory, 'root' | 'user'>,
): Promise<DeclaredVariables> {
  const names = readdirSync(workingDirectory).filter(
    (name) => /\.(tf|tofu)(\.json)?$/.test(name) && !name.startsWith('.'),
  )
  const files = await Promise.all(
    names.map(async (name) => {
      const text = (await readConfined(join(workingDirectory, name), bounds))?.toString() ?? ''
      return name.endsWith('.json') ? declaredInJson(text) : declaredInHcl(text)
    }),
  )
  return new Map(files.flatMap((declared) => [...declared]))
}

const jsonBlocks = z.record(z.string(), z.unknown())
const jsonVariables = z.object({ variable: z.union([jsonBlocks, z.array(jsonBlocks)]).optional() })
const jsonVariable = z.object({ ephemeral: z.boolean().optional() })

export function declaredInJson(text: string): DeclaredVariables {
  const groups = parseBodies(text).flatMap(({ variable = [] }) => (Array.isArray(variable) ? variable : [variable]))
  return new Map(
    groups.flatMap((group) =>
      Object.entries(group).map(([name, body]): [string, { ephemeral: boolean }] => {
        const parsed = jsonVariable.safeParse(Array.isArray(body) ? body[0] : body)
        return [name, { ephemeral: parsed.data?.ephemeral ?? false }]
      }),
    ),
  )
}

function parseBodies(text: string) {
  try {
    // A body may be given as a list of bodies that are merged.
    const parsed = z.union([jsonVariables, z.array(jsonVariables)]).safeParse(JSON.parse(text))
    return parsed.success ? [parsed.data].flat() : []
  } catch {
    return []
  }
}

/** Tokens of the reader, in this order: comments, heredocs, strings, brackets, words. */
const TOKEN = /#.*|\/\/.*|\/\*[^]*?\*\/|<<-?([\p{L}_][\p{L}\p{N}_-]*)\r?\n|"|[{}]|[\p{L}_][\p{L}\p{N}_-]*|=/gu

export function declaredInHcl(text: string): DeclaredVariables {
  const declared: DeclaredVariables = new Map()
  let depth = 0
  /** The last tokens of this nesting level: `variable`, `"name"` or `ephemeral`, `=`. */
  let recent: string[] = []
  let inside: string | undefined
  const token = new RegExp(TOKEN)
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found, heredoc] = match
    if (found.startsWith('#') || found.startsWith('/')) continue
    if (heredoc !== undefined) {
      token.lastIndex = endOfHeredoc(text, token.lastIndex, heredoc)
    } else if (found === '"') {
      const end = endOfString(text, token.lastIndex)
      recent.push(text.slice(token.lastIndex, end - 1))
      token.lastIndex = end
    } else if (found === '{') {
      const [verb, name] = recent.slice(-2)
      if (depth === 0 && verb === 'variable' && name !== undefined) {
        inside = name
        declared.set(name, { ephemeral: false })
      }
      depth += 1
      recent = []
    } else if (found === '}') {
      depth -= 1
      if (depth === 0) inside = undefined
      recent = []
    } else {
      if (depth === 1 && inside !== undefined && found === 'true' && recent.slice(-2).join('') === 'ephemeral=') {
        declared.set(inside, { ephemeral: true })
      }
      recent.push(found)
    }
  }
  return declared
}

/** The position after a string's closing quote; strings may hold templates that hold strings. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') return at + 1
    if (char === '\\') at += 1
    else if ((char === '$' || char === '%') && text[at + 1] === '{') {
      // A doubled mark is an escape, no template.
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
