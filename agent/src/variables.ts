import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob } from '@groundstate/contract/agent'
import type { DeclaredVariables } from './declared-variables.ts'
import { type RunDirectory, handOver } from './run-directory.ts'

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
