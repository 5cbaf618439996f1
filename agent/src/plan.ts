import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import { readDeclaredVariables } from './declared-variables.ts'
import { readPlan } from './plan-document.ts'
import { EngineFailed, lockFile, runEngine, runToFile, uploadFile, type Workplace } from './phase.ts'
import { fetchSchemas, schemaFile } from './provider-schemas.ts'
import { writeVariables } from './variables.ts'
import { initWorkplace } from './workplace.ts'

/** Plans in a workplace that is laid out, and uploads what the plan has brought. Throws `EngineFailed` when init fails. */
export async function runPlan(workplace: Workplace): Promise<FinishJob> {
  const { folder, job, log, workingFolder } = workplace
  const declared = await readDeclaredVariables(workingFolder)
  const [variables] = await Promise.all([
    writeVariables(folder.variables, job.variables, declared),
    initWorkplace(workplace),
  ])
  const generated = freeName(workingFolder)
  // Cached as a rule; where it is not, the engine can be asked while it plans.
  const schemas = await schemaFile(workplace)
  const schemasFetched = fetchSchemas(workplace, schemas)
  schemasFetched.catch(() => {})

  const args = planArguments(job, { planFile: folder.planFile, generated, variables })
  const exitCode = await runEngine(workplace, args, { onOutput: (lines) => log.write(lines) })
  const generatedConfiguration = existsSync(join(workingFolder, generated))
  if (exitCode !== 0 && !(generatedConfiguration && existsSync(folder.planFile))) {
    await uploadGenerated()
    throw new EngineFailed('plan', exitCode)
  }

  const uploads = Promise.all([
    uploadFile(workplace, 'plan-file', folder.planFile),
    uploadFile(workplace, 'lock-file', lockFile(workplace)),
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
    if (generatedConfiguration) await uploadFile(workplace, 'generated-configuration', join(workingFolder, generated))
  }

  async function showPlan() {
    await Promise.all([runToFile(workplace, ['show', '-json', folder.planFile], folder.planJson), schemasFetched])
    const [read] = await Promise.all([
      redact({ planJson: folder.planJson, schemas }),
      uploadFile(workplace, 'plan-json', folder.planJson),
    ])
    return read
  }

  async function redact(files: { planJson: string; schemas: string }) {
    const read = await readWithSchemas(files)
    await workplace.client.putArtifact('plan-json-redacted', read.redacted, workplace.alive)
    return read
  }

  async function readWithSchemas(files: { planJson: string; schemas: string }) {
    const read = await readPlan(files)
    if (read.unknownProviders.length === 0) return read
    // The cached schemas are those of another configuration with the same lock file: built-in providers are not in it.
    await fetchSchemas(workplace, schemas, true)
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
