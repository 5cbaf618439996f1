/** An organization has one token to set itself up with, and one that reads its audit trail. */
export type OrganizationTokenKind = 'organization' | 'audit-trails'
