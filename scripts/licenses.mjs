// Lists the licences of everything that the packages ship, and fails on one that is not allowed.
import { platformPackages, shippedPackages } from './shipped-packages.mjs'

/** Licences that permit distribution with the server, with few obligations: to name them, or to offer the source of the package itself. */
const ALLOWED = new Set([
  '(MIT OR CC0-1.0)',
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  // @cdktn/hcl2json, unchanged and in its own files.
  'MPL-2.0',
  'Unlicense',
])

/** Exceptions, each with its reason. */
const EXCEPTIONS = {
  // A library whose readable, unchanged code may be replaced in the package; its source is on npm.
  openpgp: 'LGPL-3.0+',
}

const packages = [...shippedPackages('server', 'agent', 'web'), ...platformPackages()]
const byLicense = Map.groupBy(packages, ({ license }) => license ?? 'none')
for (const [license, found] of [...byLicense].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const names = [...new Set(found.map(({ name, version }) => `${name} ${version}`))]
  console.log(`${license.padEnd(18)} ${String(names.length).padStart(4)}  ${names.join(', ')}`)
}

const refused = packages.filter(({ name, license }) => !ALLOWED.has(license) && EXCEPTIONS[name] !== license)
for (const { name, version, license } of refused) {
  console.error(
    `groundstate: ${name} ${version} has the licence ${license ?? 'none'}, which scripts/licenses.mjs does not allow`,
  )
}
if (refused.length > 0) process.exitCode = 1
