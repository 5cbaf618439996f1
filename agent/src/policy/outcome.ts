import { readFileSync } from 'node:fs'
import { isObject, parseExact, printExact } from '@groundstate/contract/exact-json'
import {
  MAX_POLICY_OUTPUTS,
  MAX_POLICY_OUTPUT_CHARACTERS,
  type ReportedPolicy,
} from '@groundstate/contract/policy-requests'
import { z } from 'zod'
import { redactor, sensitiveValues } from './redaction.ts'

/** The output of `opa eval --format=json` for a policy, or why there is none. */
export type RawOutcome = { name: string; output: string } | { name: string; message: string }

/** `secrets` are texts, besides those of the plan, that no outcome of the set may contain. */
export type SetOutcomes = { id: string; secrets: readonly string[]; outcomes: readonly RawOutcome[] }

const location = z.object({ file: z.string().optional(), row: z.int().optional() })
const opaError = z.object({ message: z.string(), location: location.optional() })
const opaOutput = z.object({
  result: z.array(z.object({ expressions: z.array(z.object({ value: z.unknown() })).min(1) })).default([]),
  errors: z.array(opaError).default([]),
})

/** Turns outputs of OPA into reports without sensitive values. Reads the input document only for outcomes with texts: it may be large. */
export function reportedSets(sets: readonly SetOutcomes[], inputFile: string) {
  let ofPlan: string[] | undefined
  return sets.map(({ id, secrets, outcomes }) => {
    let redact: ReturnType<typeof redactor> | undefined
    const redacted = (text: string) => {
      ofPlan ??= [...sensitiveValues(parseExact(readFileSync(inputFile, 'utf8')))]
      redact ??= redactor([...ofPlan, ...secrets])
      return redact(text)
    }
    return { id, policies: reportedPolicies(outcomes, redacted) }
  })
}

function reportedPolicies(outcomes: readonly RawOutcome[], redact: (text: string) => string): ReportedPolicy[] {
  const shortened = (text: string) => {
    const redacted = redact(text)
    const end = MAX_POLICY_OUTPUT_CHARACTERS - 1
    return redacted.length <= MAX_POLICY_OUTPUT_CHARACTERS ? redacted : `${redacted.slice(0, end).toWellFormed()}…`
  }
  return outcomes.map((outcome) => {
    const { name } = outcome
    const errored = (message: string): ReportedPolicy => {
      return { name, status: 'errored', output: [], omitted: 0, message: shortened(message) }
    }
    if ('message' in outcome) return errored(outcome.message)
    const { data } = opaOutput.safeParse(parsed(outcome.output))
    if (!data) return errored('OPA printed something other than its JSON')
    if (data.errors.length > 0) return errored(data.errors.map(described).join('\n'))
    const [first] = data.result
    if (first === undefined) return errored('the query is undefined: no rule of this set has its name, or none applied')
    const value = first.expressions.at(-1)?.value
    if (!Array.isArray(value))
      return errored(`the query returned ${typeName(value)}, but an array is expected: an empty one passes`)
    const shown = value.slice(0, MAX_POLICY_OUTPUTS).map((item) => {
      return shortened(typeof item === 'string' ? item : printExact(item))
    })
    const omitted = value.length - shown.length
    return { name, status: value.length === 0 ? 'passed' : 'failed', output: shown, omitted }
  })
}

function parsed(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

function described({ message, location: at }: z.infer<typeof opaError>): string {
  return at?.file === undefined || at.file === '' ? message : `${at.file}:${at.row ?? 0}: ${message}`
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'object') return isObject(value) ? 'an object' : 'a number'
  return `a ${typeof value}`
}
