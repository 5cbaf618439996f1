variable "name" {
  type = string
}

variable "network" {
  type = string
}

variable "subnet" {
  type = object({ cidr = string, public = bool })
}

resource "terraform_data" "subnet" {
  input = {
    name    = var.name
    network = var.network
    cidr    = var.subnet.cidr
    public  = var.subnet.public
  }
}

resource "terraform_data" "route" {
  for_each = toset(var.subnet.public ? ["local", "internet"] : ["local"])

  input = {
    subnet = terraform_data.subnet.output.name
    target = each.key
  }
}

output "cidr" {
  value = terraform_data.subnet.output.cidr
}
