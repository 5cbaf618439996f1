import { hclValueProblem } from './hcl-value.ts'
import type { NewRun } from './start-run.ts'

/** What is wrong with a variable of a run, at its key or its value. */
export type VariableProblem = { key: string | undefined; value: string | undefined }

/** The variables that a run can't be started with, by their rows. */
export async function variableProblems(variables: NewRun['variables']): Promise<Map<number, VariableProblem>> {
  const all = await Promise.all(
    variables.map(async ({ row, key, value }) => {
      const name = key.trim()
      const isTwice = variables.some((other) => other.row !== row && other.key.trim() === name)
      const ofKey = name === '' ? 'the name is missing' : isTwice ? `${name} is there twice` : undefined
      return [row, { key: ofKey, value: await hclValueProblem(value) }] as const
    }),
  )
  return new Map(all.filter(([, { key, value }]) => key !== undefined || value !== undefined))
}
