// Builds the agent's package: JavaScript for Node 20 with everything in it, and groundstate-agent.tgz, which npm installs
// without a network. Up-to-date builds are kept.
import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { create } from 'tar'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const AGENT = join(ROOT, 'agent')
const { version } = JSON.parse(await readFile(join(AGENT, 'package.json'), 'utf8'))

// Readers get the previous build in the meantime.
const target = join(AGENT, 'dist')
const draft = join(AGENT, `dist/.draft-${process.pid}`)
const directory = join(draft, 'package')
await mkdir(directory, { recursive: true })
try {
  const licences = await bundle()
  await writeFile(join(directory, 'THIRD-PARTY.txt'), licences)
  await cp(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'))
  await cp(join(AGENT, 'README.md'), join(directory, 'README.md'))
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`)
  await chmod(join(directory, 'groundstate-agent.js'), 0o755)
  const archive = join(draft, 'groundstate-agent.tgz')
  await create({ gzip: true, file: archive, cwd: draft, portable: true, mtime: new Date(0) }, ['package'])
  const digest = createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')
  await rm(join(target, 'package'), { recursive: true, force: true })
  await rename(directory, join(target, 'package'))
  await rename(archive, join(target, 'groundstate-agent.tgz'))
  console.log(`agent/dist/groundstate-agent.tgz sha512-${digest}`)
} finally {
  await rm(draft, { recursive: true, force: true })
}

function manifest() {
  return {
    name: 'groundstate-agent',
    version,
    description: 'Executes the runs of an agent pool of a Groundstate server with Terraform or OpenTofu.',
    license: 'Apache-2.0',
    type: 'module',
    bin: { 'groundstate-agent': './groundstate-agent.js' },
    engines: { node: '>=20' },
  }
}

/** Returns the licences of bundled packages. */
async function bundle() {
  const build = await rolldown({
    // launcher.ts and plan-document.ts look for their programs in their own directory, by these names.
    input: {
      'groundstate-agent': join(AGENT, 'src/main.ts'),
      'launcher-process': join(AGENT, 'src/process/launcher-process.ts'),
      'plan-worker': join(AGENT, 'src/run/plan-worker.ts'),
      'outcome-process': join(AGENT, 'src/policy/outcome-process.ts'),
      'old-node': join(AGENT, 'src/old-node.ts'),
    },
    platform: 'node',
    transform: { target: 'node20' },
    // Everything except Node's modules is bundled.
    external: /^node:/,
  })
  const { output } = await build.write({
    dir: directory,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false } },
    banner: ({ name }) =>
      `${name === 'groundstate-agent' ? '#!/usr/bin/env node\n' : ''}${name === 'old-node' ? '' : "import './old-node.js'\n"}`,
  })
  const modules = output.flatMap((chunk) => ('moduleIds' in chunk ? chunk.moduleIds : []))
  const packages = new Set(modules.map(packageOf).filter((path) => path !== undefined))
  const texts = await Promise.all([...packages].sort().map(licenceOf))
  return texts.join('\n')
}

function packageOf(id) {
  const match = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)
  return match?.[1]
}

async function licenceOf(path) {
  const { name, version, license, repository, homepage } = JSON.parse(
    await readFile(join(path, 'package.json'), 'utf8'),
  )
  const source = homepage ?? (typeof repository === 'string' ? repository : repository?.url) ?? ''
  for (const file of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license', 'LICENCE']) {
    const text = await readFile(join(path, file), 'utf8').catch(() => undefined)
    if (text !== undefined) return `${name} ${version} (${license}) ${source}\n\n${text.trim()}\n${'-'.repeat(80)}\n`
  }
  return `${name} ${version} (${license}) ${source}\n${'-'.repeat(80)}\n`
}
