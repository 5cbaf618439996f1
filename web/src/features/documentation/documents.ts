/** A document of the repository, whose page is /docs/<page>. Without a title, its heading is the title. */
export type Document = { page: string; path: string; title?: string; about?: string }
type Group = { reader: string; documents: readonly Document[] }

const PREFIX = '../../../../'

const texts = import.meta.glob<string>(
  [
    '../../../../{README,CHANGELOG,CONTRIBUTING,SECURITY,STYLE}.md',
    '../../../../docs/**/*.md',
    '../../../../examples/run-task-receiver/README.md',
    '../../../../deploy/chart/values.yaml',
    '../../../../deploy/{compose,image,monitoring,proxy,systemd}/*',
  ],
  { query: '?raw', import: 'default' },
)
const images = import.meta.glob<string>('../../../../docs/images/*', {
  query: '?url',
  import: 'default',
  eager: true,
})

/** The documents by reader, in reading order. */
export const GROUPS: readonly Group[] = [
  {
    reader: 'Use it',
    documents: [
      document('README.md', 'Get started', 'Start a server and create the first run'),
      document('docs/WEB.md', 'The web UI', 'What each page shows and does'),
      document('docs/CONCEPTS.md', 'Concepts', 'Workspaces, runs and states, and a glossary'),
      document(
        'docs/REPOSITORIES.md',
        'Repositories',
        'Pushes start runs, pull requests get plans: GitHub, GitLab and others',
      ),
      document(
        'docs/WORKLOAD-IDENTITY.md',
        'Workload identity',
        'Runs authenticate to AWS, Google Cloud, Azure, Vault and others without stored keys',
      ),
      document('docs/STATE.md', 'State versions', 'Upload, compare, roll back, restore and delete states'),
      document(
        'docs/NOTIFICATIONS.md',
        'Notifications',
        'Messages about runs in chat services, by e-mail or to programs',
      ),
      document('docs/CHAIN-WORKSPACES.md', 'Chain workspaces', 'Run triggers and remote state between workspaces'),
    ],
  },
  {
    reader: 'Operate it',
    documents: [
      document(
        'docs/INSTALL.md',
        'Install Groundstate',
        'With npm, containers, Kubernetes or systemd, and behind a proxy',
      ),
      document('docs/OPERATIONS.md', 'Operations', 'Install, back up, upgrade, scale and monitor a server'),
      document('docs/SOAK.md', 'Soak test', 'Memory and the time of every list in a large installation under load'),
      document('docs/MONITORING.md', 'Monitoring', 'Metrics, traces, logs, alerts and support bundles'),
      document('docs/SETTINGS.md', 'Settings', 'Every environment variable and flag'),
      document('docs/SIGN-IN.md', 'Sign-in', 'Passwords, two-factor authentication and single sign-on'),
      document('docs/RUN-AN-AGENT.md', 'Run an agent in another network', 'Agent pools, isolation and engines'),
      document('docs/AUDIT.md', 'Audit trail', 'Who changed what, and how to export it'),
      document('docs/VERSIONING.md', 'Versions', 'What may change between versions, support, upgrades and releases'),
      document('CHANGELOG.md', 'Changelog', 'What each version adds, changes and fixes'),
      document('SECURITY.md', 'Security', 'Threats, what stops them, and how to report a vulnerability'),
      document('docs/AIR-GAP.md', 'Run without the internet', 'Engines, providers and packages from your own network'),
    ],
  },
  {
    reader: 'Integrate',
    documents: [
      document('docs/INTERFACE.md', 'Interface', 'The details of the API on which clients rely'),
      document('docs/INTERFACE-STATES.md', 'Interface: state versions', 'The API of states in detail'),
      document('docs/RUN-TASKS.md', 'Run tasks', 'Build a receiver that reviews plans'),
      document('docs/POLICIES.md', 'Policies', 'Check plans with rules'),
      document('docs/REGISTRY.md', 'The registry', 'Share modules and providers'),
      document(
        'examples/run-task-receiver/README.md',
        'A receiver of run tasks',
        'An example in one file, without dependencies',
      ),
    ],
  },
  {
    reader: 'Contribute',
    documents: [
      document('CONTRIBUTING.md', 'Contributing', 'Set up, test and release'),
      document('STYLE.md', 'Style', 'How the code is organised and written'),
      document('docs/ARCHITECTURE.md', 'Architecture', 'The parts of the code, and where to change what'),
      document('docs/RUNS.md', 'Runs', 'The state machine of runs and the queue'),
      document('docs/AUTHORISATION.md', 'Authorisation', 'How access is granted and checked'),
      document('docs/ADDING-AN-ENDPOINT.md', 'Add an endpoint', 'From the contract to the test'),
      document('docs/decisions/README.md', 'Decisions', 'What was decided, why, and when to reconsider it'),
    ],
  },
]

/** Documents that only others link to. */
const LINKED: readonly Document[] = Object.keys(texts)
  .map((key) => key.slice(PREFIX.length))
  .filter((path) => !GROUPS.some(({ documents }) => documents.some((listed) => listed.path === path)))
  .map((path) => document(path))

export const DOCUMENTS: readonly Document[] = [...GROUPS.flatMap(({ documents }) => documents), ...LINKED]

export function documentOfPage(page: string) {
  return DOCUMENTS.find((candidate) => candidate.page === page)
}

/** The title of a document, and its Markdown below the title. */
export async function loadDocument({ path, title }: Document) {
  const load = texts[`${PREFIX}${path}`]
  if (!load) throw new Error(`there is no document ${path}`)
  const text = await load()
  if (!path.endsWith('.md'))
    return { title: path.split('/').at(-1) ?? path, text: `\`\`\`\n${text.trimEnd()}\n\`\`\`\n` }
  const heading = /^# (.*)\n/.exec(text)
  return { title: title ?? heading?.[1] ?? path, text: text.slice(heading?.[0].length ?? 0) }
}

type LinkTarget = { page: string; hash?: string } | { url: string } | undefined

/** The target of a link in a document; undefined for files that are not part of the documentation. */
export function linkTarget(from: Document, href: string): LinkTarget {
  if (/^[a-z]+:/i.test(href)) return { url: href }
  const { pathname, hash } = new URL(href, `http://repository/${from.path}`)
  const target = DOCUMENTS.find(({ path }) => `/${path}` === pathname)
  return target && { page: target.page, ...(hash !== '' && { hash: hash.slice(1) }) }
}

/** The address of an image in a document. */
export function imageAddress(from: Document, src: string) {
  return images[`${PREFIX}${new URL(src, `http://repository/${from.path}`).pathname.slice(1)}`]
}

function document(path: string, title?: string, about?: string): Document {
  return { page: pageOf(path), path, ...(title !== undefined && { title }), ...(about !== undefined && { about }) }
}

/** The name of the file, or for a README that of its directory. */
function pageOf(path: string) {
  if (path === 'README.md') return 'get-started'
  return (
    path
      .replace(/\/README\.md$/, '')
      .split('/')
      .at(-1) ?? ''
  )
    .replace(/\.md$/, '')
    .toLowerCase()
}
