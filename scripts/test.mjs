// npm test: installs what is missing, then runs the tests. Arguments go to vitest.
import { join } from 'node:path'
import { ROOT, become, checkPostgres, findNode, install } from './toolchain.mjs'

install()
checkPostgres()
become(findNode(), [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)])
