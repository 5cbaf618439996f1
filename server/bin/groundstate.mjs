#!/usr/bin/env node
// Starts the server's command line on a Node that runs TypeScript sources: this one, or the one that npm installed.
import { spawn } from 'node:child_process'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

if (Number(process.versions.node.split('.', 1)[0]) >= 24) {
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
