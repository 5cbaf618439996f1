// Builds the agent's package, which the server offers for download: groundstate-agent.tgz, which npm installs without a network.
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAgentPackage } from './agent-package.mjs'
import { ROOT } from './bundle.mjs'
import { pack } from './packaging.mjs'

// Readers get the previous build in the meantime.
const target = join(ROOT, 'agent/dist')
const draft = join(target, `.draft-${process.pid}`)
await mkdir(draft, { recursive: true })
try {
  const directory = join(draft, 'package')
  const archive = join(draft, 'groundstate-agent.tgz')
  await writeAgentPackage(directory)
  const digest = await pack(directory, archive)
  await rm(join(target, 'package'), { recursive: true, force: true })
  await rename(directory, join(target, 'package'))
  await rename(archive, join(target, 'groundstate-agent.tgz'))
  console.log(`agent/dist/groundstate-agent.tgz ${digest}`)
} finally {
  await rm(draft, { recursive: true, force: true })
}
