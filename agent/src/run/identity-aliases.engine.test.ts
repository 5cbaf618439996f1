import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { configuration, describeWithTerraform, startAgent, startServer } from '../testing/agent-fixture.ts'
import { CLIENT, ROLE, identityOf } from '../testing/identity.ts'

const TAGGED = {
  TFC_AWS_PROVIDER_AUTH_EU: 'true',
  TFC_AWS_RUN_ROLE_ARN_EU: `${ROLE}-eu`,
  TFC_AZURE_PROVIDER_AUTH: 'true',
  TFC_AZURE_RUN_CLIENT_ID: CLIENT,
  TFC_AZURE_PROVIDER_AUTH_B: 'true',
  TFC_AZURE_RUN_CLIENT_ID_B: CLIENT.replaceAll('1', '9'),
  TFC_KUBERNETES_PROVIDER_AUTH_ONE: 'true',
}
/** Declares the variables as documented, and passes what a provider would read to a script. */
const ALIASES = `
variable "tfc_aws_dynamic_credentials" {
  type = object({
    default = object({ shared_config_file = string })
    aliases = map(object({ shared_config_file = string }))
  })
}
variable "tfc_azure_dynamic_credentials" {
  type = object({
    default = object({ client_id_file_path = string, oidc_token_file_path = string })
    aliases = map(object({ client_id_file_path = string, oidc_token_file_path = string }))
  })
}
variable "tfc_kubernetes_dynamic_credentials" {
  type = object({
    default = object({ token_path = string })
    aliases = map(object({ token_path = string }))
  })
  default = null
}
variable "tfc_gcp_dynamic_credentials" { default = "unset" }
resource "terraform_data" "a" {
  triggers_replace = [var.tfc_aws_dynamic_credentials.default.shared_config_file, var.tfc_gcp_dynamic_credentials]
  provisioner "local-exec" {
    command = "for f in $FILES; do echo; cat $f | sed s/^jwt.apply.*/applies/; done; env | grep -E '^(AWS|ARM)_' || true"
    environment = {
      FILES = join(" ", [
        var.tfc_aws_dynamic_credentials.aliases["EU"].shared_config_file,
        var.tfc_azure_dynamic_credentials.default.client_id_file_path,
        var.tfc_azure_dynamic_credentials.aliases["B"].client_id_file_path,
        var.tfc_azure_dynamic_credentials.aliases["B"].oidc_token_file_path,
        var.tfc_kubernetes_dynamic_credentials.aliases["ONE"].token_path,
      ])
    }
  }
}
output "unset" { value = [var.tfc_gcp_dynamic_credentials, var.tfc_aws_dynamic_credentials.default] }
`

describeWithTerraform('aliases of providers', () => {
  test.each([
    ['the agent of the plan', '', 'deep/er'],
    ['another agent', 'other', ''],
  ])(
    'have files whose paths are valid in an apply on %s',
    async (_name, other, workingDirectory) => {
      const server = await startServer()
      const first = await startAgent(server)
      const prefix = workingDirectory === '' ? '' : `${workingDirectory}/`
      const archive = configuration('', { [`${prefix}main.tf`]: ALIASES })
      const job = { configuration: archive, workingDirectory }
      const plan = server.submit({ ...job, ...identityOf(TAGGED, 'plan') })
      expect(await plan.finished).toMatchObject({ status: 'finished' })
      if (other !== '') {
        first.stop()
        await first.ended
        await startAgent(server)
      }

      const again = { kind: 'apply', runId: plan.runId, artifacts: plan.artifacts } as const
      const apply = server.submit({ ...job, ...again, ...identityOf(TAGGED, 'apply') })
      const outcome = await apply.finished

      expect(outcome).toMatchObject({ status: 'finished' })
      const log = stripVTControlCharacters(apply.log())
      expect(log).toContain(`role_arn = ${ROLE}-eu`)
      expect(log).toContain(CLIENT)
      expect(log).toContain(CLIENT.replaceAll('1', '9'))
      expect(log.match(/: applies/g)).toHaveLength(2)
      // Those of the default configuration would take precedence over an alias.
      expect(log).toMatch(/ARM_CLIENT_ID_FILE_PATH=/)
      expect(log).not.toMatch(/ARM_CLIENT_ID=|AWS_CONFIG_FILE=/)
      expect(log).toMatch(/unset = \[\s*"unset",\s*\{\s*"shared_config_file" = ""/)
      expect(String(plan.artifacts.get('plan-json'))).not.toContain(first.workDir)
    },
    60_000,
  )

  test('have variables that are not taken from the workspace', async () => {
    const server = await startServer()
    await startAgent(server)
    const identity = identityOf(TAGGED, 'plan')
    const forged = { ...identity.variables[0], key: 'tfc_azure_dynamic_credentials', value: 'x', category: 'terraform' }

    const plan = server.submit({
      configuration: configuration(ALIASES),
      ...identity,
      variables: [...identity.variables, forged] as typeof identity.variables,
    })

    expect(await plan.finished).toMatchObject({ status: 'finished' })
  }, 60_000)
})
