// npm start: installs and builds what is missing, then serves. Arguments go to `groundstate serve`.
import { join } from 'node:path'
import { ROOT, become, buildWeb, findNode, install } from './toolchain.mjs'

install()
buildWeb()
// Not a terminal's foreground job: Ctrl-C must reach the server once, and it reads nothing from the terminal.
become(findNode(), [join(ROOT, 'server/bin/groundstate.mjs'), 'serve', ...process.argv.slice(2)], { detached: true })
