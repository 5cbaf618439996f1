import { ExternalLink as ExternalIcon, Plus, Trash2 } from 'lucide-react'
import { serverPath } from '../../api/base.ts'
import { sendAndRefetch } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { Card, CardList } from '../../components/card.tsx'
import { ExternalLink } from '../../components/links.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { type Installation, useInstallations } from './connections.ts'

/** The path that starts the installation of the GitHub App in the browser, which returns to the connections. */
export function appPath(organization: string) {
  return serverPath(`/github-app/connect?organization=${encodeURIComponent(organization)}`)
}

/** The installations of the GitHub App of the server; nothing without one. */
export function InstallationsCard({ organization, mayManage }: { organization: string; mayManage: boolean }) {
  const installations = useInstallations(organization).data ?? []
  if (installations.length === 0) return null
  return (
    <Card
      title="GitHub App"
      about="Installations of this server’s app. Their repositories can be chosen in every workspace."
      isFlush
      actions={
        mayManage && (
          <a href={appPath(organization)} className={buttonClass()}>
            <Plus size={16} />
            Add installation
          </a>
        )
      }
    >
      <CardList items={installations} none="No installations yet.">
        {(installation) => <InstallationRow key={installation.id} {...{ organization, installation, mayManage }} />}
      </CardList>
    </Card>
  )
}

type RowProps = { organization: string; installation: Installation; mayManage: boolean }

function InstallationRow({ organization, installation: { id, attributes }, mayManage }: RowProps) {
  const name = attributes.name ?? id
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <span className="min-w-0 flex-1 font-medium break-words">{name}</span>
      {attributes['status-message'] !== null && <span className="text-bad">{attributes['status-message']}</span>}
      {attributes['installation-url'] !== null && (
        <ExternalLink href={attributes['installation-url']} className="inline-flex items-center gap-1">
          On GitHub <ExternalIcon size={14} />
        </ExternalLink>
      )}
      {mayManage && (
        <RowMenu
          label={`Actions for ${name}`}
          actions={[
            {
              text: 'Unlink',
              icon: Trash2,
              confirm: {
                title: `Unlink ${name}?`,
                consequence:
                  'Workspaces that use its repositories lose them: pushes no longer start runs there. The app stays installed on GitHub.',
                action: `Unlink ${name}`,
                done: `${name} unlinked`,
                onConfirm: async () =>
                  sendAndRefetch(
                    'DELETE',
                    `/github-app/installation/${id}`,
                    ['github-app-installations', organization],
                    ['workspaces'],
                  ),
              },
            },
          ]}
        />
      )}
    </li>
  )
}
