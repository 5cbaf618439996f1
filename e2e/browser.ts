import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { atEnd } from '../server/src/testing/cleanup.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)

/** Whether a browser is installed; without one, its tests are skipped with a message. */
export const hasBrowser = CHROMIUM !== undefined
if (!hasBrowser) console.warn('SKIPPED: there is no Chromium in /usr/bin, nothing that drives a browser can be tested')

/** A page in a new browser, closed at the end of the test, or of the file. */
export async function openPage(): Promise<Page> {
  const profile = await mkdtemp(join(tmpdir(), 'groundstate-chromium-'))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM ?? '',
    // The browser does not trust the authority of TLS=auto.
    ignoreHTTPSErrors: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  atEnd(async () => {
    await browser.close()
    await rm(profile, { recursive: true, force: true })
  })
  browser.setDefaultTimeout(10_000)
  return browser.pages()[0] ?? browser.newPage()
}
