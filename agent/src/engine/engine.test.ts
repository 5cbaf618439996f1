import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { findEngine } from './engine.ts'

async function installEngine(path: string, name: 'Terraform' | 'OpenTofu', version: string) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(
    path,
    `#!/bin/sh\nprintf '${name} v${version}\\non linux_amd64\\n\\nYour version is out of date!\\n'\n`,
  )
  await chmod(path, 0o755)
}

async function directoryOfEngines() {
  const directory = await temporaryDirectory()
  await installEngine(join(directory, 'terraform_1.9.8/terraform'), 'Terraform', '1.9.8')
  await installEngine(join(directory, '1.10.5/terraform'), 'Terraform', '1.10.5')
  await installEngine(join(directory, 'terraform_99.0.0-rc1'), 'Terraform', '99.0.0-rc1')
  await installEngine(join(directory, 'tofu/1.10.0/tofu'), 'OpenTofu', '1.10.0')
  return directory
}

test.for([
  ['terraform', '1.9.8'],
  ['terraform', '1.10.5'],
  ['terraform', '99.0.0-rc1'],
  ['tofu', '1.10.0'],
] as const)('%s %s is found among several versions', async ([product, version]) => {
  const enginePath = await directoryOfEngines()

  const found = await findEngine({ product, version }, { enginePath, strict: true })

  expect(found).toMatchObject({ warning: undefined, engine: { product, version, platform: 'linux_amd64' } })
})

test('the product of a wrapper with JSON output only follows from its name', async () => {
  const enginePath = await temporaryDirectory()
  const response = '{"terraform_version":"1.8.2","platform":"linux_amd64"}'
  await writeFile(join(enginePath, 'tofu'), `#!/bin/sh\n[ "$2" = -json ] && echo '${response}'\n`, { mode: 0o755 })

  const found = await findEngine({ product: 'tofu', version: 'latest' }, { enginePath, strict: true })

  expect(found.engine).toMatchObject({ product: 'tofu', version: '1.8.2', platform: 'linux_amd64' })
})

test('a job for a missing engine names the available ones', async () => {
  const enginePath = await temporaryDirectory()
  await installEngine(join(enginePath, 'tofu'), 'OpenTofu', '1.10.0')
  vi.stubEnv('PATH', '/usr/bin:/bin')
  onTestFinished(() => void vi.unstubAllEnvs())

  const search = findEngine({ product: 'terraform', version: 'latest' }, { enginePath, strict: false })

  await expect(search).rejects.toThrow(/this agent has no Terraform: .*\. It has OpenTofu 1\.10\.0$/)
})

test('latest selects the highest version', async () => {
  const enginePath = await directoryOfEngines()

  const found = await findEngine({ product: 'terraform', version: 'latest' }, { enginePath, strict: true })

  expect(found.engine.version).toBe('99.0.0-rc1')
})

test('another version is used with a warning, or refused by a strict agent', async () => {
  const enginePath = await directoryOfEngines()
  const requirement = { product: 'tofu', version: '1.6.0' } as const

  const found = await findEngine(requirement, { enginePath, strict: false })

  expect(found).toMatchObject({
    engine: { version: '1.10.0' },
    warning: expect.stringContaining('OpenTofu 1.6.0 is not on this agent'),
  })
  await expect(findEngine(requirement, { enginePath, strict: true })).rejects.toThrow('which has 1.10.0')
})

test('a required version is never replaced with another', async () => {
  const enginePath = await directoryOfEngines()
  const requirement = { product: 'tofu', version: '1.6.0', required: true } as const

  await expect(findEngine(requirement, { enginePath, strict: false })).rejects.toThrow(
    'OpenTofu 1.6.0 is not on this agent, which has 1.10.0: set the terraform-version of the workspace to one of these, or to latest',
  )
  await expect(findEngine({ ...requirement, version: '1.10.0' }, { enginePath, strict: false })).resolves.toMatchObject(
    {
      engine: { version: '1.10.0' },
    },
  )
})

test('the engine path may be a binary', async () => {
  const enginePath = join(await temporaryDirectory(), 'my-engine')
  await installEngine(enginePath, 'OpenTofu', '1.9.0')

  const found = await findEngine({ product: 'tofu', version: '1.9.0' }, { enginePath, strict: true })

  expect(found.engine.product).toBe('tofu')
})

test('a constraint is met by the highest version that it allows', async () => {
  const enginePath = await directoryOfEngines()

  const found = await findEngine({ product: 'terraform', version: '~> 1.9.0' }, { enginePath, strict: false })

  expect(found).toMatchObject({ warning: undefined, engine: { version: '1.9.8' } })
})

test('a constraint that no engine meets is rejected, naming the available versions', async () => {
  const enginePath = await directoryOfEngines()
  const requirement = { product: 'tofu', version: '>= 1.11, < 2.0' } as const

  await expect(findEngine(requirement, { enginePath, strict: false })).rejects.toThrow(
    'no OpenTofu that meets >= 1.11, < 2.0 is on this agent, which has 1.10.0',
  )
})

test('an invalid version is rejected with an example', async () => {
  const enginePath = await directoryOfEngines()
  const requirement = { product: 'tofu', version: 'newest' } as const

  await expect(findEngine(requirement, { enginePath, strict: false })).rejects.toThrow('such as ~> 1.9.0')
})
