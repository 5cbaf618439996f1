import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import { uploadResult } from './artifacts.ts'
import type { EngineContext } from './context.ts'
import { makeDocuments } from './documents.ts'
import { runHook } from './hooks.ts'
import { type PlanSchemas, planSchemas } from './provider-schemas.ts'
import { EngineFailed, lockFile, runEngine } from './run-engine.ts'
import { readPlanSummary } from './summaries.ts'
import { readDeclaredVariables, writeVariables } from './variables.ts'
import { runInit } from './working-directory.ts'

/** How a plan ended, and what is still to be made of it. */
export type Planned = { outcome: FinishJob; owed?: PlanSchemas }

/** With `-detailed-exitcode`: the plan has succeeded, and would change something. */
const HAS_CHANGES = 2

/**
 * Plans in a prepared directory and uploads the results. Where the run applies a plan by itself, one that changes something is told at
 * once, and its JSON is owed. Throws `EngineFailed` when init or the plan fails.
 */
export async function runPlan(context: EngineContext): Promise<Planned> {
  const { directory, job, log, workingDirectory } = context
  const mayOwe = job.documentsMayFollow && context.outbox !== undefined
  await runHook(context, 'pre-plan')
  const declared = await readDeclaredVariables(workingDirectory, directory)
  const variables = writeVariables(directory, job.variables, declared)
  await runInit(context)
  const generated = freeName(workingDirectory)
  const schemas = await planSchemas(context)

  let counts: FinishJob['counts']
  const args = planArguments(job, { planFile: directory.planFile, generated, variables, mayOwe })
  const code = await runEngine(context, args, {
    onOutput(lines, stream) {
      if (mayOwe && stream === 'stdout') counts = readPlanSummary(lines) ?? counts
      return log.write(lines)
    },
  })
  const hasChanges = mayOwe && code === HAS_CHANGES
  const exitCode = hasChanges ? 0 : code
  const generatedConfiguration = existsSync(join(workingDirectory, generated))
  if (exitCode !== 0 && !(generatedConfiguration && existsSync(directory.planFile))) {
    await uploadGenerated()
    throw new EngineFailed('plan', exitCode)
  }
  await runHook(context, 'post-plan')

  const uploads = Promise.all([
    uploadResult(context, 'plan-file', directory.planFile),
    uploadResult(context, 'lock-file', lockFile(context)),
    uploadGenerated(),
  ])
  if (hasChanges) {
    // To print schemas the engine reads the organization, which its token may no longer do after the outcome.
    await Promise.all([uploads, schemas.fetched])
    // A change of outputs alone has no summary.
    const planned = counts ?? { additions: 0, changes: 0, destructions: 0, imports: 0 }
    const outcome = { status: 'finished', exitCode, hasChanges, counts: planned, generatedConfiguration } as const
    return { outcome: { ...outcome, owesDocuments: true }, owed: schemas }
  }
  const [document] = await Promise.all([makeDocuments(context, schemas), uploads])
  return {
    outcome: {
      status: exitCode === 0 ? 'finished' : 'errored',
      exitCode,
      hasChanges: document.hasChanges,
      counts: document.counts,
      generatedConfiguration,
    },
  }

  async function uploadGenerated() {
    if (generatedConfiguration)
      await uploadResult(context, 'generated-configuration', join(workingDirectory, generated))
  }
}

type PlanPaths = { planFile: string; generated: string; variables: string[]; mayOwe: boolean }

function planArguments(
  { options, structuredOutput }: AgentJob,
  { planFile, generated, variables, mayOwe }: PlanPaths,
): string[] {
  return [
    'plan',
    '-input=false',
    '-lock=false',
    `-out=${planFile}`,
    ...(mayOwe ? ['-detailed-exitcode'] : []),
    ...(structuredOutput ? ['-json'] : []),
    ...(options.isDestroy ? ['-destroy'] : []),
    ...(options.refreshOnly ? ['-refresh-only'] : []),
    ...(options.refresh || options.refreshOnly ? [] : ['-refresh=false']),
    ...options.targetAddrs.map((address) => `-target=${address}`),
    ...options.replaceAddrs.map((address) => `-replace=${address}`),
    ...(options.allowConfigGeneration ? [`-generate-config-out=${generated}`] : []),
    ...variables,
  ]
}

/** A name for generated configuration that the configuration does not use: the engine refuses to overwrite. */
function freeName(workingDirectory: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? 'generated.tf' : `generated_${number}.tf`
    if (!existsSync(join(workingDirectory, name))) return name
  }
}
