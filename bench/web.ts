import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { median } from './load.ts'
import type { BenchRow, Target } from './target.ts'
import { type Seeded, seedWeb } from './web-seed.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)
const KB = 1024
const REPEATS = 5
/** Time without a request after which a page is loaded, in ms. */
const IDLE_MS = 2000
/** Timeout for a page to be drawn, in ms. */
const RETRY_TIMEOUT_MS = 10_000
const SCROLL_STEPS = 60
const FRAME_MS = 1000 / 60

/**
 * A page, and how to recognise that it is drawn. `from`: time is measured from the last data that arrived before, or
 * from the opening of the page. `scrolls` is the pane to scroll.
 */
type Scene = {
  name: string
  path: keyof Seeded
  query?: string
  /** A CSS selector, and a text in the selected element. */
  drawn: { css: string; text: string }
  from: 'data' | 'opening'
  budget: number
  scrolls?: string
}
const SCENES: readonly Scene[] = [
  {
    name: 'list of workspaces',
    path: 'workspaces',
    drawn: { css: 'main a', text: 'small' },
    from: 'data',
    budget: 200,
  },
  {
    name: 'run of 20 changes',
    path: 'small',
    query: '?part=changes',
    drawn: { css: 'main', text: 'terraform_data.item' },
    from: 'data',
    budget: 200,
  },
  {
    name: 'log of 20,000 lines',
    path: 'large',
    query: '?part=log',
    drawn: { css: 'main', text: 'Refreshing state' },
    from: 'data',
    budget: 200,
    scrolls: '[role="region"]:has(a[aria-label^="Line "])',
  },
  {
    name: 'plan of 5,000 changes',
    path: 'large',
    query: '?part=changes',
    drawn: { css: '[aria-label="Resource changes"]', text: 'terraform_data.item' },
    from: 'opening',
    budget: 1000,
    scrolls: '[aria-label="Resource changes"]',
  },
  {
    name: 'state of 50 MB as JSON',
    path: 'state',
    query: '&show=raw',
    drawn: { css: 'main', text: 'terraform_version' },
    from: 'opening',
    budget: 3000,
    scrolls: '[role="region"]:has(:text("terraform_version"))',
  },
]

/** Initial load of the web UI, and the time to draw large pages, on an otherwise idle server. */
export async function webBenches({ start, turn }: Target): Promise<BenchRow[]> {
  if (CHROMIUM === undefined) {
    process.stderr.write('there is no Chromium in /usr/bin: pages are not measured\n')
    return []
  }
  const target = await start({ GROUNDSTATE_AGENTS: '0' })
  try {
    const seeded = await seedWeb(target)
    await using browser = await openBrowser(target.baseUrl, seeded)
    const rows = await firstLoad(browser.context, target.baseUrl)
    for (const scene of SCENES) {
      await turn?.()
      rows.push(...(await measure(browser.context, target.baseUrl, scene, seeded)))
    }
    return rows
  } finally {
    await target.stop()
  }
}

/**
 * Requests from opening the overview with an empty cache until nothing more is requested, and the bytes of their bodies: those of the
 * application's files, including the code of the overview, and in total with the data.
 */
async function firstLoad(context: BrowserContext, baseUrl: string): Promise<BenchRow[]> {
  const page = context.pages()[0] ?? (await context.newPage())
  const client = await context.newCDPSession(page)
  await client.send('Network.enable')
  const responses = new Map<string, { headers: number; isFile: boolean }>()
  let [requests, fileBytes, bytes, lastAt] = [0, 0, 0, performance.now()]
  client.on('Network.requestWillBeSent', ({ request }) => {
    if (request.url.startsWith('http')) requests += 1
    lastAt = performance.now()
  })
  client.on('Network.responseReceived', ({ requestId, response }) => {
    const isFile = !new URL(response.url).pathname.startsWith('/api/')
    responses.set(requestId, { headers: response.encodedDataLength, isFile })
  })
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const { headers = 0, isFile = false } = responses.get(requestId) ?? {}
    bytes += encodedDataLength - headers
    if (isFile) fileBytes += encodedDataLength - headers
  })
  await page.goto(`${baseUrl}/app/main`)
  while (performance.now() - lastAt < IDLE_MS) await setTimeout(IDLE_MS / 10)
  await client.detach()
  return [
    { name: 'first load, compressed files', value: fileBytes / KB, unit: 'KB', better: 'less', budget: 130 },
    { name: 'first load, files and data', value: bytes / KB, unit: 'KB', better: 'less' },
    { name: 'first load, requests', value: requests, unit: '', better: 'less', budget: 25 },
  ]
}

async function openBrowser(baseUrl: string, { username, password }: Seeded) {
  const profile = await mkdtemp(join(tmpdir(), 'groundstate-bench-chromium-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM ?? '',
    viewport: { width: 1440, height: 900 },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
  const response = await context.request.post(`${baseUrl}/api/v2/sessions`, {
    headers: { 'content-type': 'application/vnd.api+json', origin: baseUrl },
    data: JSON.stringify({ data: { type: 'sessions', attributes: { username, password } } }),
  })
  if (!response.ok()) throw new Error(`signing in failed with status ${response.status()}`)
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}

async function measure(context: BrowserContext, baseUrl: string, scene: Scene, seeded: Seeded): Promise<BenchRow[]> {
  const page = context.pages()[0] ?? (await context.newPage())
  const times: number[] = []
  // The first load fills the cache of files.
  for (let index = 0; index <= REPEATS; index += 1) {
    await page.goto(`${baseUrl}/${seeded[scene.path]}${scene.query ?? ''}`, { waitUntil: 'commit' })
    const time = await drawnAfter(page, scene)
    if (time === undefined) return [{ ...rowOf(scene), value: Number.POSITIVE_INFINITY }]
    if (index > 0) times.push(time)
  }
  const rows = [{ ...rowOf(scene), value: median(times) }]
  if (scene.scrolls === undefined) return rows
  const name = `${scene.name}: frames dropped while it scrolls`
  return [...rows, { name, value: await droppedFrames(page, scene.scrolls), unit: '%', better: 'less', budget: 3 }]
}

function rowOf({ name, from, budget }: Scene): Omit<BenchRow, 'value'> {
  const what = from === 'data' ? 'drawn after its data' : 'opened and drawn'
  return { name: `${name}: ${what}`, unit: 'ms', better: 'less', budget }
}

/** Time until the frame after the text appears, in ms; undefined if it does not. Checked by the page at each frame. */
async function drawnAfter(page: Page, { drawn: { css, text }, from }: Scene) {
  const times = await page.evaluate<{ arrived: number; drawn: number } | null>(`(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done))
    const isThere = () => [...document.querySelectorAll(${JSON.stringify(css)})].some(
      ({ textContent }) => textContent.includes(${JSON.stringify(text)}))
    while (!isThere()) {
      if (performance.now() > ${RETRY_TIMEOUT_MS}) return null
      await frame()
    }
    const found = performance.now()
    await frame()
    const data = performance.getEntriesByType('resource').filter(({ name }) => /\\/(?:api|_objects)\\//.test(name))
    const arrived = data.map(({ responseEnd }) => responseEnd).filter((time) => time < found)
    return { arrived: Math.max(0, ...arrived), drawn: performance.now() }
  })()`)
  return times ? times.drawn - (from === 'data' ? times.arrived : 0) : undefined
}

/** Scrolls a pane with the wheel; returns the percentage of late frames. */
async function droppedFrames(page: Page, pane: string) {
  await page.locator(pane).first().hover()
  await page.evaluate(`(() => {
    window.frames_ = []
    const note = (time) => { window.frames_.push(time); requestAnimationFrame(note) }
    requestAnimationFrame(note)
  })()`)
  for (let step = 0; step < SCROLL_STEPS; step += 1) await page.mouse.wheel(0, step < SCROLL_STEPS / 2 ? 1200 : -900)
  const times = await page.evaluate<number[]>('window.frames_')
  const lasted = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const wanted = Math.max(1, Math.round(lasted / FRAME_MS))
  return (100 * Math.max(0, wanted - (times.length - 1))) / wanted
}
