import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT, bundleAgent } from './bundle.mjs'
import { METADATA, setModes, versionOf } from './packaging.mjs'
import { shippedPackages, thirdPartyNotices } from './shipped-packages.mjs'

/** Writes the contents of the agent's package: JavaScript for Node 20 with everything in it. */
export async function writeAgentPackage(directory, build) {
  await mkdir(directory, { recursive: true })
  await bundleAgent(directory, build)
  // Its image is made from nothing but this package.
  await cp(join(ROOT, 'deploy/image/health.mjs'), join(directory, 'health.mjs'))
  await writeFile(join(directory, 'THIRD-PARTY.txt'), await thirdPartyNotices(shippedPackages('agent')))
  await cp(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'))
  await cp(join(ROOT, 'agent/README.md'), join(directory, 'README.md'))
  const manifest = {
    name: 'groundstate-agent',
    version: await versionOf('agent'),
    description: 'Executes the runs of an agent pool of a Groundstate server with Terraform or OpenTofu.',
    keywords: ['terraform', 'opentofu', 'groundstate', 'agent', 'infrastructure-as-code'],
    ...METADATA,
    type: 'module',
    bin: { 'groundstate-agent': './groundstate-agent.js' },
    files: ['*.js', 'health.mjs', 'THIRD-PARTY.txt', 'sbom.cdx.json'],
    os: ['linux', 'darwin'],
    engines: { node: '>=20' },
  }
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  await setModes(directory, ['groundstate-agent.js'])
}
