/** A minimal set, as files to copy. */
export const EXAMPLE_DEFINITION = `policy "no-public-buckets" {
  query             = "data.terraform.policies.no_public_buckets.deny"
  enforcement_level = "mandatory"
  description       = "Buckets must not be public"
}
`

export const EXAMPLE_CODE = `package terraform.policies.no_public_buckets

import rego.v1

deny contains msg if {
	some change in input.plan.resource_changes
	change.type == "aws_s3_bucket"
	change.change.after.acl == "public-read"
	msg := sprintf("%s must not be public", [change.address])
}
`

export const EXAMPLE_QUERY = 'data.terraform.policies.no_public_buckets.deny'

export const LEVELS = {
  advisory: { text: 'Advisory', about: 'A failure is shown, and the run continues.' },
  mandatory: { text: 'Mandatory', about: 'A failure stops the run until someone with permission overrides it.' },
} as const
export type Level = keyof typeof LEVELS

/** The options of a radio field. */
export const LEVEL_OPTIONS = (Object.keys(LEVELS) as Level[]).map((value) => ({ value, ...LEVELS[value] }))
