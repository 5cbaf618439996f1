import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import { uploadResult } from './artifacts.ts'
import type { EngineContext } from './context.ts'
import { type PlanSchemas, createDocuments, planSchemas } from './documents.ts'
import { readInstalled } from './installed.ts'
import { EngineFailed, lockFile, runEngine, runHook } from './run-engine.ts'
import { readSummary } from './summaries.ts'
import { readDeclaredVariables, writeVariables } from './variables.ts'
import { runInit } from './working-directory.ts'

/** The outcome of a plan; `pending` if its documents are not yet created. */
export type Planned = { outcome: FinishJob; pending?: PlanSchemas }

/** Exit code with `-detailed-exitcode`: the plan succeeded and has changes. */
const HAS_CHANGES = 2

/** Plans and uploads the results. With auto-apply, a plan with changes is reported before its documents are created. Throws `EngineFailed`. */
export async function runPlan(context: EngineContext): Promise<Planned> {
  const { directory, job, log, workingDirectory } = context
  const mayReportEarly = job.documentsMayFollow && context.outbox !== undefined
  await runHook(context, 'pre-plan')
  const declared = await readDeclaredVariables(workingDirectory, directory)
  const variables = writeVariables(directory, { variables: job.variables, own: context.ownVariables }, declared)
  await runInit(context)
  context.findings.installed = await readInstalled(context)
  const generated = unusedName(workingDirectory)
  const schemas = await planSchemas(context)

  let counts: FinishJob['counts']
  const args = [
    ...planArguments(job, directory.planFile),
    ...(mayReportEarly ? ['-detailed-exitcode'] : []),
    ...(job.options.allowConfigGeneration ? [`-generate-config-out=${generated}`] : []),
    ...variables,
  ]
  const code = await runEngine(context, args, {
    onOutput(lines, stream) {
      if (mayReportEarly && job.structuredOutput && stream === 'stdout') counts = readSummary(lines, 'plan') ?? counts
      return log.write(lines)
    },
  })
  const hasChanges = mayReportEarly && code === HAS_CHANGES
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
    const outcome = { status: 'finished', exitCode, hasChanges, counts, generatedConfiguration } as const
    return { outcome: { ...outcome, owesDocuments: true }, pending: schemas }
  }
  const [document] = await Promise.all([createDocuments(context, schemas), uploads])
  const status = exitCode === 0 ? 'finished' : 'errored'
  const summary = { hasChanges: document.hasChanges, counts: document.counts }
  return { outcome: { status, exitCode, ...summary, generatedConfiguration } }

  async function uploadGenerated() {
    if (generatedConfiguration)
      await uploadResult(context, 'generated-configuration', join(workingDirectory, generated))
  }
}

function planArguments({ options, structuredOutput }: AgentJob, planFile: string): string[] {
  return [
    'plan',
    '-input=false',
    '-lock=false',
    `-out=${planFile}`,
    ...(structuredOutput ? ['-json'] : []),
    ...(options.isDestroy ? ['-destroy'] : []),
    ...(options.refreshOnly ? ['-refresh-only'] : []),
    ...(options.refresh || options.refreshOnly ? [] : ['-refresh=false']),
    ...options.targetAddrs.map((address) => `-target=${address}`),
    ...options.replaceAddrs.map((address) => `-replace=${address}`),
  ]
}

/** An unused file name for generated configuration: the engine refuses to overwrite a file. */
function unusedName(workingDirectory: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? 'generated.tf' : `generated_${number}.tf`
    if (!existsSync(join(workingDirectory, name))) return name
  }
}
