// Sets the version of all packages, of the lock file and of the Helm chart: npm run version:set 1.1.0
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CHART = join(ROOT, 'deploy/chart/Chart.yaml')

const version = process.argv[2]
if (version === undefined || !/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[\w.]+)?$/.test(version)) {
  console.error(`groundstate: the version is ${version ?? 'missing'}, but must be like 1.1.0 or 1.1.0-rc.1`)
  process.exit(1)
}

const { workspaces } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
for (const workspace of workspaces) await edit(join(ROOT, workspace, 'package.json'), setVersion)
await edit(join(ROOT, 'package-lock.json'), (lock) => {
  for (const workspace of workspaces) setVersion(lock.packages[workspace])
})
const chart = await readFile(CHART, 'utf8')
await writeFile(CHART, chart.replaceAll(/^(version|appVersion):.*$/gm, `$1: ${version}`))
console.log(`version ${version}: now give its changes in CHANGELOG.md a section with the date`)

/** Workspaces depend on each other by exact versions. */
function setVersion(manifest) {
  manifest.version = version
  for (const name of Object.keys(manifest.dependencies)) {
    if (name.startsWith('@groundstate/')) manifest.dependencies[name] = version
  }
}

async function edit(path, change) {
  const content = JSON.parse(await readFile(path, 'utf8'))
  change(content)
  await writeFile(path, `${JSON.stringify(content, undefined, 2)}\n`)
}
