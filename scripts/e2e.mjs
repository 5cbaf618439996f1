// npm run e2e: installs and builds what is missing, then runs the end-to-end tests. Arguments go to vitest.
import { join } from 'node:path'
import { ROOT, become, buildWeb, checkPostgres, findNode, install } from './toolchain.mjs'

install()
checkPostgres()
buildWeb()
const config = ['--config', 'e2e/vitest.config.ts']
become(findNode(), [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...config, ...process.argv.slice(2)])
