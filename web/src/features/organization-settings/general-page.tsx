import { useNavigate } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { CODE_INPUT, TextField, fieldError, formValues } from '../../components/form.tsx'
import { InlineForm, useInlineForm } from '../../components/inline-form.tsx'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { RelativeTime } from '../../components/time.tsx'
import {
  type Organization,
  useOpenOrganization,
  useRenameOrganization,
  useUpdateOrganization,
} from './organization-settings.ts'

export function GeneralPage() {
  const { name, data, fallback } = useOpenOrganization()
  return (
    <Page title="General" actions={<CopyCurl path={`/organizations/${name}`} />}>
      {data ? (
        <div className="grid gap-4">
          <Name organization={data} />
          <Email organization={data} />
        </div>
      ) : (
        fallback
      )}
    </Page>
  )
}

function Name({ organization: { id: name, attributes } }: { organization: Organization }) {
  const { isOpen, opener, open, close } = useInlineForm()
  const navigate = useNavigate()
  const rename = useRenameOrganization(name, async (organization) => {
    close('Organization renamed')
    await navigate({ to: '/app/$organization/settings', params: { organization }, ignoreBlocker: true })
  })
  return (
    <Card
      title="Organization"
      actions={
        attributes.permissions['can-update'] &&
        !isOpen && <Button ref={opener} icon={Pencil} label="Rename" onClick={open} />
      }
    >
      <div className="space-y-4">
        <DescriptionList
          facts={[
            ['Name', name],
            [
              'ID',
              <span key="id" className="inline-flex max-w-full items-center gap-1">
                <code className="wrap-anywhere">{attributes['external-id']}</code>
                <CopyButton text={attributes['external-id']} label="Copy the ID" />
              </span>,
            ],
            ['Created', <RelativeTime key="created" at={attributes['created-at']} />],
          ]}
        />
        {isOpen && (
          <InlineForm
            action="Rename organization"
            mutation={rename}
            names={['name']}
            onCancel={() => close()}
            onSubmit={(form) => {
              const { name: next = '' } = formValues(form)
              rename.mutate(next)
            }}
          >
            <div className="space-y-1">
              <p className="font-medium text-bad">The old name stops working immediately. Change it afterwards in:</p>
              <ul className="list-disc pl-5">
                <li>
                  <code>cloud</code> and <code>backend</code> blocks of every configuration, and{' '}
                  <code>TF_CLOUD_ORGANIZATION</code>
                </li>
                <li>
                  <code>terraform_remote_state</code> data sources that read states of this organization
                </li>
                <li>scripts that call the API, and bookmarks</li>
              </ul>
              <p>IDs of workspaces, runs and states stay the same.</p>
            </div>
            <TextField
              label="New name"
              name="name"
              defaultValue={name}
              required
              autoFocus
              error={fieldError(rename.error, 'name')}
              {...CODE_INPUT}
            />
          </InlineForm>
        )}
      </div>
    </Card>
  )
}

function Email({ organization: { id: name, attributes } }: { organization: Organization }) {
  const update = useUpdateOrganization(name)
  const draft = useDraft({ email: attributes.email ?? '' })
  return (
    <SettingsForm
      title="Contact"
      readOnly={!attributes.permissions['can-update'] && (attributes.email ?? 'Only owners see the address.')}
      names={['email']}
      draft={draft}
      onSave={async () => update.mutateAsync({ attributes: { email: draft.values.email.trim() } })}
    >
      <TextField
        label="Email"
        type="email"
        hint="Where site administrators reach the owners."
        {...draft.text('email')}
      />
    </SettingsForm>
  )
}
