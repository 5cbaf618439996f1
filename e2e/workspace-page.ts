import type { Page } from 'playwright-core'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, untilRunIs } from './run-progress.ts'
import type { BootedServer } from './server.ts'

const CONFIGURATION = `
resource "terraform_data" "broker" {
  count = 30
  input = count.index
}
output "endpoint" { value = "kafka.example.com:9092" }
output "settings" { value = { zones = ["a", "b", "c"], items = [for i in range(30) : "item-\${i}"] } }
output "password" {
  value     = "correct horse battery staple"
  sensitive = true
}
`

/** The workspace `kafka` with 30 resources, a sensitive output and others, applied once. */
export async function appliedWorkspace(server: BootedServer) {
  const kafka = await remoteWorkspace(server, { name: 'kafka', configuration: CONFIGURATION })
  const run = await startRun(server, kafka, { message: 'Deploy the brokers' })
  await untilRunIs(server, async () => readRun(server, run), 'applied')
  return kafka
}

/** Opens a tab of a workspace, such as `/settings`; by default its overview. */
export async function openTab(page: Page, server: BootedServer, workspace: string, tab = '') {
  await page.goto(`${server.url}/app/main/workspaces/${workspace}${tab}`)
  await page.getByRole('heading', { name: workspace, level: 1 }).waitFor()
}

export function button(page: Pick<Page, 'getByRole'>, name: string) {
  return page.getByRole('button', { name, exact: true })
}

/** A titled section of a page. */
export function region(page: Page, name: string) {
  return page.getByRole('region', { name, exact: true })
}
