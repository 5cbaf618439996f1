// Fails on known vulnerabilities of severity high or critical in the dependencies that are shipped. A registry that does not answer is
// reported, but is no failure.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FAILING = new Set(['high', 'critical'])

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { cwd: ROOT, encoding: 'utf8' })
const report = parsed(stdout)
if (error || !report?.metadata?.vulnerabilities) {
  const reason = error?.message ?? report?.message ?? (stdout.trim() || 'npm printed nothing')
  console.error(`audit: SKIPPED, the registry was not asked for vulnerabilities: ${reason}`)
} else {
  const found = Object.values(report.vulnerabilities)
  for (const { name, severity, via } of found) {
    const titles = via.map((cause) => (typeof cause === 'string' ? `through ${cause}` : `${cause.title} ${cause.url}`))
    console.log(`audit: ${severity}: ${name}: ${titles.join('; ')}`)
  }
  const failing = found.filter(({ severity }) => FAILING.has(severity))
  console.log(`audit: ${found.length} vulnerable packages, ${failing.length} of them high or critical`)
  if (failing.length > 0) process.exitCode = 1
}

function parsed(json) {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
