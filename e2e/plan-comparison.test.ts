import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type PlanChange, planChanges, planDifferences } from '../server/src/terraform-state/plan-changes.ts'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { hasTerraform } from './terraform.ts'

const CONFIGURATION = `
variable "size" { default = 1 }
variable "password" {
  default   = "first-secret"
  sensitive = true
}
resource "terraform_data" "network" { input = { size = var.size, password = var.password, made_at = timestamp() } }
resource "terraform_data" "subnet" {
  count            = 3
  input            = terraform_data.network.id
  triggers_replace = var.size
}
output "size" { value = var.size }
`

const root = mkdtempSync(join(tmpdir(), 'groundstate-plans-'))
atEnd(() => rmSync(root, { recursive: true, force: true }))
const terraform = (directory: string, ...args: string[]) =>
  execFileSync('terraform', args, {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: root, CHECKPOINT_DISABLE: '1' },
  })

let copies = 0

/** The changes of a plan, made in a copy of the directory as another agent would. */
function planOf(directory: string, configuration: string): PlanChange[] {
  const copy = join(root, `plan-${++copies}`)
  cpSync(directory, copy, { recursive: true })
  writeFileSync(join(copy, 'main.tf'), configuration)
  terraform(copy, 'plan', '-out=plan', '-input=false')
  return planChanges(JSON.parse(terraform(copy, 'show', '-json', 'plan')), 'key')
}

describe.skipIf(!hasTerraform)('plans of terraform', () => {
  const applied = join(root, 'applied')
  const setUp = () => {
    mkdirSync(applied)
    writeFileSync(join(applied, 'main.tf'), CONFIGURATION)
    terraform(applied, 'init', '-input=false')
  }

  test('are identical for the same configuration, before and after an apply', () => {
    setUp()
    const creations = [planOf(applied, CONFIGURATION), planOf(applied, CONFIGURATION)] as const
    terraform(applied, 'apply', '-auto-approve', '-input=false')
    const larger = CONFIGURATION.replace('default = 1', 'default = 2')

    const updates = [planOf(applied, larger), planOf(applied, larger)] as const

    expect(planDifferences(...creations)).toEqual([])
    expect(planDifferences(...updates)).toEqual([])
    expect(updates[0].map(({ address, actions }) => [address, actions])).toEqual([
      ['output.size', ['update']],
      ['terraform_data.network', ['update']],
      ['terraform_data.subnet[0]', ['delete', 'create']],
      ['terraform_data.subnet[1]', ['delete', 'create']],
      ['terraform_data.subnet[2]', ['delete', 'create']],
    ])
  })

  test('differ by a secret, a resource or an action', () => {
    const reviewed = planOf(applied, CONFIGURATION)
    const secret = planOf(applied, CONFIGURATION.replace('first-secret', 'second-secret'))
    const fewer = planOf(applied, CONFIGURATION.replace('count            = 3', 'count            = 2'))

    expect(planDifferences(reviewed, secret)).toEqual([
      {
        address: 'terraform_data.network',
        kind: 'changed',
        'reviewed-actions': ['update'],
        'planned-actions': ['update'],
      },
    ])
    expect(planDifferences(reviewed, fewer)).toEqual([
      { address: 'terraform_data.subnet[2]', kind: 'added', 'reviewed-actions': [], 'planned-actions': ['delete'] },
    ])
    expect(JSON.stringify([reviewed, secret])).not.toContain('secret"')
  })
})
