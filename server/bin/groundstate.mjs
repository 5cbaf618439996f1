#!/usr/bin/env node
// Starts the server's command line on a Node that runs TypeScript sources: this one, or the one that npm installed.
import { spawn } from 'node:child_process'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// What the C library and V8 hold back of freed memory can only be limited before they start.
const FRUGAL = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144', MALLOC_TRIM_THRESHOLD_: '262144' }
const YOUNG_GENERATION = '--max-semi-space-size=8'

if (Number(process.versions.node.split('.', 1)[0]) >= 24) {
  if (isServer() && process.platform === 'linux' && process.env.MALLOC_ARENA_MAX === undefined) {
    // The same process, started over: large states come and go, and would leave hundreds of MB behind.
    const args = [...process.execArgv, YOUNG_GENERATION, ...process.argv.slice(1)]
    process.execve(process.execPath, [process.execPath, ...args], { ...process.env, ...FRUGAL })
  }
  // Saves a third of the time to start. Among the dependencies, where nobody else may write, unlike in a shared /tmp.
  module.enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/groundstate'))
  await import('../src/main.ts')
} else {
  const child = spawn(findNode(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // The terminal sends an interrupt to the child as well.
  process.on('SIGINT', () => undefined)
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(error.message))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

function isServer() {
  const [command = 'serve', ...options] = process.argv.slice(2)
  return command === 'serve' && !options.includes('--help')
}

function findNode() {
  const name = `node-${process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin/node')
  } catch {
    fail(`Node.js 24 or later is needed, this is ${process.version}, and the package ${name} is not installed`)
  }
}

function fail(message) {
  process.stderr.write(`groundstate: ${message}\n`)
  process.exit(1)
}
