"""The chart of ops/helm, rendered by Helm's own library (helm-python-sdk of PyPI) where it is installed."""

import importlib.util
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "ops" / "helm" / "futures-gateway"
PLAIN = ROOT / "ops" / "kubernetes" / "gateway.yaml"
HAS_HELM = all(importlib.util.find_spec(name) for name in ("helm_python", "yaml"))


def rendered(values):
    import helm_python
    import yaml

    with helm_python.Chart.load(CHART) as chart:
        texts = chart.render(values, name="prices", namespace="default")
        documents = [yaml.safe_load(text) for file, text in texts.items() if not file.endswith("NOTES.txt")]
    return {one["kind"]: one for one in documents if one}


class ChartTests(unittest.TestCase):
    def test_it_has_the_version_of_the_program(self):
        version = re.search(r'version = "(.*)"', (ROOT / "Sources" / "FuturesGateway" / "GatewayService.swift").read_text())[1]
        self.assertIn(f'appVersion: "{version}"', (CHART / "Chart.yaml").read_text())

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_helm_finds_nothing_wrong(self):
        import helm_python

        self.assertNotIn("ERROR", str(helm_python.lint(CHART)))

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_it_deploys_what_the_manifest_deploys(self):
        import yaml

        plain = {one["kind"]: one for one in yaml.safe_load_all(PLAIN.read_text())}
        made = rendered({"image": {"tag": "latest"}})
        self.assertEqual(set(made), set(plain))
        own, theirs = (kinds["Deployment"]["spec"]["template"]["spec"] for kinds in (made, plain))
        own["containers"][0].pop("imagePullPolicy")
        own.pop("topologySpreadConstraints"), theirs.pop("topologySpreadConstraints")  # They name the release.
        self.assertEqual(own, theirs)
        labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
        for selector in (made["Service"]["spec"]["selector"], made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                         made["Deployment"]["spec"]["selector"]["matchLabels"]):
            self.assertEqual(selector, labels)

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_a_setting_is_a_variable_of_the_program(self):
        container = rendered({"settings": {"FUTURES_GATEWAY_LINES": 1}})["Deployment"]["spec"]["template"]["spec"]["containers"][0]
        self.assertIn({"name": "FUTURES_GATEWAY_LINES", "value": "1"}, container["env"])

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_a_digest_takes_the_place_of_the_tag(self):
        for image, name in (({"tag": "1"}, "r/g:1"), ({"tag": "1", "digest": "sha256:ab"}, "r/g@sha256:ab")):
            pod = rendered({"image": {"repository": "r/g"} | image})["Deployment"]["spec"]["template"]["spec"]
            self.assertEqual(pod["containers"][0]["image"], name)

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_what_is_switched_on_selects_the_pods(self):
        taint = {"key": "prices", "operator": "Exists"}
        made = rendered({"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "nodeSelector": {"zone": "a"}, "tolerations": [taint],
                         "networkPolicy": {"enabled": True, "from": [{"podSelector": {}}], "egress": [{"ports": [{"port": 4222}]}]}})
        pod = made["Deployment"]["spec"]["template"]
        self.assertEqual((pod["spec"]["nodeSelector"], pod["spec"]["tolerations"]), ({"zone": "a"}, [taint]))
        self.assertEqual(made["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"], pod["metadata"]["labels"])
        self.assertEqual(made["NetworkPolicy"]["spec"]["ingress"][0]["from"], [{"podSelector": {}}])
        self.assertIn({"ports": [{"port": 4222}]}, made["NetworkPolicy"]["spec"]["egress"])
        monitor, service = made["ServiceMonitor"], made["Service"]
        self.assertEqual(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"])
        self.assertEqual(monitor["metadata"]["labels"]["release"], "prometheus")
        self.assertEqual(monitor["spec"]["endpoints"][0]["port"], service["spec"]["ports"][0]["name"])
        # The alerts ask for this job.
        self.assertEqual(service["metadata"]["labels"][monitor["spec"]["jobLabel"]], "futures-gateway")

    def test_the_grace_is_longer_than_a_stop_takes(self):
        for file in (PLAIN, PLAIN.parent / "cluster.yaml", CHART / "templates" / "deployment.yaml"):
            delays = [int(number) for number in re.findall(r'DRAIN_DELAY, value: "(\d+)"', file.read_text())]
            graces = [int(number) for number in re.findall(r"terminationGracePeriodSeconds: (\d+)", file.read_text())]
            self.assertEqual(len(delays), 1)
            # 8 s for readers, 1 s for answers, 4 s for a tape.
            self.assertGreaterEqual(max(graces), delays[0] + 13)


if __name__ == "__main__":
    unittest.main()
