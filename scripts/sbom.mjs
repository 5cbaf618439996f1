// Software bills of materials (CycloneDX) of the published packages: the bundled dependencies, and the packages of a platform.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './bundle.mjs'
import { METADATA, currentBuild, versionOf } from './packaging.mjs'
import { PLATFORM_PACKAGES, lockOf } from './shipped-packages.mjs'

/** The workspaces that a package contains, and the packages that npm installs with it. */
export const CONTENTS = {
  groundstate: { workspaces: ['server', 'agent', 'web'], optionalDependencies: PLATFORM_PACKAGES },
  'groundstate-agent': { workspaces: ['agent'], optionalDependencies: {} },
}

/** The bill of a package as JSON, the same for the same lock file and build. */
export async function sbomOf(name, build) {
  const { workspaces, optionalDependencies } = CONTENTS[name]
  const { dependencies, packages } = lockOf(workspaces, optionalDependencies)
  const { license, repository, homepage } = METADATA
  const version = await versionOf('server')
  const manifest = { name, version, license, repository, homepage, dependencies, optionalDependencies }
  const lock = { name, version, lockfileVersion: 3, requires: true, packages: { '': manifest, ...packages } }

  // npm describes the repository of the working directory: this one is the package.
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-sbom-'))
  try {
    await writeFile(join(directory, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(directory, 'package-lock.json'), JSON.stringify(lock))
    const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application', '--offline']
    const output = execFileSync('npm', args, { cwd: directory, encoding: 'utf8', maxBuffer: 64 << 20 })
    const sbom = JSON.parse(output)
    sbom.metadata.component.name = name
    return reproducible(sbom, build)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Replaces the random serial number and the current time. */
function reproducible(sbom, build) {
  sbom.metadata.timestamp = build.time
  delete sbom.serialNumber
  const hex = createHash('sha256').update(JSON.stringify(sbom)).digest('hex')
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  const { $schema, bomFormat, specVersion, ...rest } = sbom
  return `${JSON.stringify({ $schema, bomFormat, specVersion, serialNumber: `urn:uuid:${uuid}`, ...rest }, undefined, 2)}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const build = currentBuild()
  await mkdir(join(ROOT, 'dist'), { recursive: true })
  for (const name of Object.keys(CONTENTS)) {
    const file = `dist/${name}-${await versionOf('server')}.cdx.json`
    await writeFile(join(ROOT, file), await sbomOf(name, build))
    console.log(file)
  }
}
