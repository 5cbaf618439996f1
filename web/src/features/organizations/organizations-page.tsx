import type { PageOnWire } from '@groundstate/contract/answers'
import type { organizationSchema } from '@groundstate/contract/organizations'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import { EmptyState, ErrorNote, Loading } from '../../components/feedback.tsx'
import { Ago } from '../../components/time.tsx'

export function OrganizationsPage() {
  const organizations = useQuery({
    queryKey: ['organizations'],
    queryFn: async () => get<PageOnWire<typeof organizationSchema>>('/organizations?page[size]=100'),
  })
  return (
    <>
      <h1 className="text-xl font-semibold tracking-tight">Organizations</h1>
      <div className="mt-6">
        {organizations.isPending && <Loading />}
        {organizations.error && <ErrorNote error={organizations.error} />}
        {organizations.data?.data.length === 0 && (
          <EmptyState title="You are in no organization yet">
            Ask an owner to invite you, or create one through the API: <code>POST /api/v2/organizations</code>.
          </EmptyState>
        )}
        <ul className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
          {organizations.data?.data.map((organization) => (
            <li key={organization.id}>
              <Link
                to="/app/$organization/workspaces"
                params={{ organization: organization.attributes.name }}
                className="block rounded-lg border border-slate-200 bg-white p-5 hover:border-indigo-400 dark:border-slate-800 dark:bg-slate-900"
              >
                <span className="font-medium">{organization.attributes.name}</span>
                <span className="mt-1 block text-sm text-slate-500">
                  created <Ago at={organization.attributes['created-at']} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </>
  )
}
