import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments, stringify } from 'yaml'

export const CHART = join(import.meta.dirname, '../deploy/chart')
/** Helm takes it from a cluster, or else from its build. */
export const KUBERNETES = ['--kube-version', '1.34.0']

export type Values = Record<string, unknown>
export type Metadata = {
  name: string
  labels: Record<string, string>
  annotations?: Record<string, string>
}
/** A rendered resource. Its kind decides what else it has; the schemas of Kubernetes check it. */
// oxlint-disable-next-line typescript/no-explicit-any -- as said
export type Resource = { apiVersion: string; kind: string; metadata: Metadata; [property: string]: any }

/** The path of a program in PATH, GOBIN or `~/go/bin`; undefined if it is not installed. */
export function findTool(name: string): string | undefined {
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    process.env['GOBIN'] ?? '',
    join(homedir(), 'go/bin'),
  ]
  return directories
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, name))
    .find(isExecutable)
}

function isExecutable(path: string) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Runs a command and returns its output, and its error text, also if it fails. */
export async function run(command: string, args: readonly string[]) {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, { maxBuffer: 2 ** 28 })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

/** Renders the chart once with these values. */
export async function renderChart(helm: string, values: Values) {
  await using file = await temporaryFile(JSON.stringify(values))
  return await run(helm, ['template', 'gs', CHART, ...KUBERNETES, '--values', file.path])
}

/** Lints the chart with these values. */
export async function lintChart(helm: string, values: Values) {
  await using file = await temporaryFile(JSON.stringify(values))
  return await run(helm, ['lint', CHART, '--strict', ...KUBERNETES, '--values', file.path])
}

/** Renders the chart with each of many values in one process: as dependencies of another chart, whose names are those of the cases. */
export async function renderCases(helm: string, cases: ReadonlyMap<string, Values>) {
  await using directory = await temporaryDirectory()
  await mkdir(join(directory.path, 'charts'))
  await cp(CHART, join(directory.path, 'charts/groundstate'), { recursive: true, dereference: true })
  const dependencies = [...cases.keys()].map((alias) => ({ name: 'groundstate', alias, version: '*' }))
  const chart = { apiVersion: 'v2', name: 'cases', version: '1.0.0', dependencies }
  await writeFile(join(directory.path, 'Chart.yaml'), stringify(chart))
  await writeFile(join(directory.path, 'values.yaml'), JSON.stringify(Object.fromEntries(cases)))
  const { stdout, stderr } = await run(helm, ['template', 'gs', directory.path, ...KUBERNETES])
  if (stdout === '') throw new Error(stderr)
  const resources = new Map<string, Resource[]>([...cases.keys()].map((name) => [name, []]))
  for (const resource of resourcesIn(stdout)) resources.get(caseOf(resource))?.push(resource)
  return { text: stdout, resources }
}

function caseOf({ metadata }: Resource) {
  return metadata.labels['app.kubernetes.io/name'] ?? ''
}

/** The resources of a text that Helm has rendered. */
export function resourcesIn(text: string): Resource[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0]
    const resource: Resource | null = document.toJS()
    return resource === null ? [] : [resource]
  })
}

/** A file with this text that is deleted after its use. */
export async function temporaryFile(text: string) {
  const directory = await temporaryDirectory()
  const path = join(directory.path, 'file.yaml')
  await writeFile(path, text)
  return { ...directory, path }
}

async function temporaryDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'groundstate-chart-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
