import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import { uploadFile, uploadResult } from './artifacts.ts'
import type { EngineContext } from './context.ts'
import { readDeclaredVariables } from './declared-variables.ts'
import { runHook } from './hooks.ts'
import { lockFile } from './lock-file.ts'
import { readPlan } from './plan-document.ts'
import { fetchSchemas, schemaFile } from './provider-schemas.ts'
import { EngineFailed, runEngine, runToFile } from './run-engine.ts'
import { writeVariables } from './variables.ts'
import { runInit } from './working-folder.ts'

/** Plans in a prepared folder and uploads the results. Throws `EngineFailed` when init or the plan fails. */
export async function runPlan(context: EngineContext): Promise<FinishJob> {
  const { folder, job, log, workingFolder } = context
  await runHook(context, 'pre-plan')
  const declared = await readDeclaredVariables(workingFolder, folder)
  const [variables] = await Promise.all([writeVariables(folder, job.variables, declared), runInit(context)])
  const generated = freeName(workingFolder)
  // Cached as a rule; where it is not, the engine can be asked while it plans.
  const schemas = await schemaFile(context)
  const schemasFetched = fetchSchemas(context, schemas)
  schemasFetched.catch(() => {})

  const args = planArguments(job, { planFile: folder.planFile, generated, variables })
  const exitCode = await runEngine(context, args, { onOutput: (lines) => log.write(lines) })
  const generatedConfiguration = existsSync(join(workingFolder, generated))
  if (exitCode !== 0 && !(generatedConfiguration && existsSync(folder.planFile))) {
    await uploadGenerated()
    throw new EngineFailed('plan', exitCode)
  }
  await runHook(context, 'post-plan')

  const uploads = Promise.all([
    uploadResult(context, 'plan-file', folder.planFile),
    uploadResult(context, 'lock-file', lockFile(context)),
    uploadGenerated(),
  ])
  const [document] = await Promise.all([showPlan(), uploads])
  return {
    status: exitCode === 0 ? 'finished' : 'errored',
    exitCode,
    hasChanges: document.hasChanges,
    counts: document.counts,
    generatedConfiguration,
  }

  async function uploadGenerated() {
    if (generatedConfiguration) await uploadResult(context, 'generated-configuration', join(workingFolder, generated))
  }

  async function showPlan() {
    await Promise.all([runToFile(context, ['show', '-json', folder.planFile], folder.planJson), schemasFetched])
    const [read] = await Promise.all([
      redact({ planJson: folder.planJson, schemas }),
      uploadFile(context, 'plan-json', folder.planJson),
    ])
    return read
  }

  async function redact(files: { planJson: string; schemas: string }) {
    const read = await readWithSchemas(files)
    await context.client.putArtifact('plan-json-redacted', read.redacted, context.alive)
    return read
  }

  async function readWithSchemas(files: { planJson: string; schemas: string }) {
    const read = await readPlan(files)
    if (read.unknownProviders.length === 0) return read
    // The cached schemas are those of another configuration with the same lock file: built-in providers are not in it.
    await fetchSchemas(context, schemas, true)
    return readPlan(files)
  }
}

type PlanPaths = { planFile: string; generated: string; variables: string[] }

function planArguments(
  { options, structuredOutput }: AgentJob,
  { planFile, generated, variables }: PlanPaths,
): string[] {
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
    ...(options.allowConfigGeneration ? [`-generate-config-out=${generated}`] : []),
    ...variables,
  ]
}

/** A name for generated configuration that the configuration does not use: the engine refuses to overwrite. */
function freeName(workingFolder: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? 'generated.tf' : `generated_${number}.tf`
    if (!existsSync(join(workingFolder, name))) return name
  }
}
