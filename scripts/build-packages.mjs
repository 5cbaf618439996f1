// Builds the packages of a release from the sources: dist/groundstate/ with the server, which an image can copy, and archives of it
// and of the agent for npm. Builds of the same commit are identical. The argument is the directory, by default dist.
import { execFileSync } from 'node:child_process'
import { copyFile, cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { writeAgentPackage } from './agent-package.mjs'
import { ROOT, UNBUNDLED, bundleServer } from './bundle.mjs'
import { METADATA, currentBuild, pack, setModes, versionOf } from './packaging.mjs'
import { sbomOf } from './sbom.mjs'
import { PLATFORM_PACKAGES, packagesWithDependencies, shippedPackages, thirdPartyNotices } from './shipped-packages.mjs'

const version = await versionOf('server')
const build = currentBuild()
execFileSync(process.execPath, [join(ROOT, 'scripts/prepare.mjs'), 'web'], { stdio: 'inherit' })

const target = resolve(process.argv[2] ?? join(ROOT, 'dist'))
const draft = join(target, `.draft-${process.pid}`)
await mkdir(draft, { recursive: true })
try {
  const agent = join(draft, 'groundstate-agent')
  const agentArchive = join(draft, 'groundstate-agent.tgz')
  await writeAgentPackage(agent, build)
  await addSbom(agent, 'groundstate-agent')
  const agentDigest = await pack(agent, agentArchive)

  const server = join(draft, 'groundstate')
  const serverArchive = join(draft, 'groundstate.tgz')
  await writeServerPackage(server, agentArchive)
  await addSbom(server, 'groundstate')
  const serverDigest = await pack(server, serverArchive)

  await publish(agentArchive, `groundstate-agent-${version}.tgz`, agentDigest)
  await publish(serverArchive, `groundstate-${version}.tgz`, serverDigest)
  await rm(join(target, 'groundstate'), { recursive: true, force: true })
  await rename(server, join(target, 'groundstate'))
  console.log(`${join(target, 'groundstate')}: commit ${build.commit}, built ${build.time}`)
} finally {
  await rm(draft, { recursive: true, force: true })
}

async function addSbom(directory, name) {
  const sbom = await sbomOf(name, build)
  await writeFile(join(directory, 'sbom.cdx.json'), sbom)
  await writeFile(join(target, `${name}-${version}.cdx.json`), sbom)
}

async function publish(archive, name, digest) {
  await rename(archive, join(target, name))
  console.log(`${join(target, name)} ${digest}`)
}

/** Files have the paths that they have in the repository, so the server finds them in the same way. */
async function writeServerPackage(directory, agentArchive) {
  await bundleServer(join(directory, 'server/dist'), build)
  for (const name of ['groundstate', 'groundstate.mjs', 'bundle.mjs']) {
    await copy(directory, `server/bin/${name}`)
  }
  await copy(directory, 'server/src/features/site/samples/configurations')
  await copy(directory, 'web/dist')
  await copy(directory, 'examples')
  await copyDeploymentFiles(directory)
  await copy(directory, 'LICENSE')
  await cp(join(ROOT, 'scripts/package-readme.md'), join(directory, 'README.md'))
  await mkdir(join(directory, 'agent/dist'), { recursive: true })
  await copyFile(agentArchive, join(directory, 'agent/dist/groundstate-agent.tgz'))

  // Bundled, because a package on the registry has no lockfile: their dependencies are those of the tests, too.
  for (const { path } of packagesWithDependencies(UNBUNDLED)) {
    await cp(join(ROOT, path), join(directory, path), {
      recursive: true,
      filter: (source) => !relative(join(ROOT, path), source).split('/').includes('node_modules'),
    })
  }
  const packages = shippedPackages('server', 'agent', 'web')
  await writeFile(join(directory, 'THIRD-PARTY.txt'), await thirdPartyNotices(packages))
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(serverManifest(), undefined, 2)}\n`)
  await setModes(directory, ['server/bin/groundstate', 'deploy/image/groundstate-agent'])
}

async function copy(directory, path) {
  await cp(join(ROOT, path), join(directory, path), { recursive: true })
}

/** What units, the chart, Compose and the image need. The files of the chart are links in the repository, which archives of npm leave out. */
async function copyDeploymentFiles(directory) {
  // Of tests, and of a build in a clone: with the package as the context, nothing is ignored.
  const leftOut = new Set(['chart/testing', 'image/Dockerfile.dockerignore'])
  await cp(join(ROOT, 'deploy'), join(directory, 'deploy'), {
    recursive: true,
    dereference: true,
    filter: (source) => !leftOut.has(relative(join(ROOT, 'deploy'), source)),
  })
}

function serverManifest() {
  const bundled = packagesWithDependencies(UNBUNDLED).filter(({ name }) => UNBUNDLED.includes(name))
  return {
    name: 'groundstate',
    version,
    description: 'Runs Terraform and OpenTofu in workspaces, stores their state, and calls run tasks.',
    keywords: ['terraform', 'opentofu', 'infrastructure-as-code', 'terraform-state', 'remote-backend', 'run-tasks'],
    ...METADATA,
    type: 'module',
    bin: { groundstate: './server/bin/groundstate' },
    files: ['server', 'web', 'agent', 'examples', 'deploy', 'THIRD-PARTY.txt', 'sbom.cdx.json'],
    dependencies: Object.fromEntries(bundled.map(({ name, version }) => [name, version])),
    bundleDependencies: UNBUNDLED,
    optionalDependencies: PLATFORM_PACKAGES,
    os: ['linux', 'darwin'],
    // The command itself; the server runs on the Node.js of the optional dependencies, or on 24 and later.
    engines: { node: '>=20' },
  }
}
