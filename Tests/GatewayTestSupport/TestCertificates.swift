package import NIOSSL

/// Throw-away certificates for loopback, valid for a hundred years unless said otherwise. The root's key was not kept.
package enum TestCertificates {
    package static let root = """
        -----BEGIN CERTIFICATE-----
        MIIBkDCCATWgAwIBAgIUF88GChgCO+xknGP3YZ94xvlkRCQwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCByb290MCAXDTI2MTEyMTAyMzEzNVoYDzIxMjYxMDI4
        MDIzMTM1WjAUMRIwEAYDVQQDDAlUZXN0IHJvb3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAARvO5zvwKgZNlLprgkxRH4k8d9AJF4o5BRzRifjY+SbSzsDZT9b6Czh
        YOKi/Pq6qoJ33GIA4WPZSzeQfDf6vceUo2MwYTAdBgNVHQ4EFgQUNnNuOfyE9FFx
        p1tzzP5WJt7wGcIwHwYDVR0jBBgwFoAUNnNuOfyE9FFxp1tzzP5WJt7wGcIwDwYD
        VR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwIDSQAwRgIh
        APTLto9cFaKmQuLsEbZnOWeyIzRDZYO8nZrUl13vng1mAiEA94FvTuSJa/SjtenI
        TqKkzAOGQb3L/NpVIBAqb8Xf+VE=
        -----END CERTIFICATE-----
        """

    /// For `localhost` and 127.0.0.1.
    package static let good = Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBpDCCAUugAwIBAgIUScyV3Q3s1eYNpxiKSia1wZjOrE8wCgYIKoZIzj0EAwIw
            FDESMBAGA1UEAwwJVGVzdCByb290MCAXDTI2MTEyMTAyMzEzNVoYDzIxMjYxMDI4
            MDIzMTM1WjAPMQ0wCwYDVQQDDARnb29kMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
            QgAE4JrAbScsSzaUbKBcxR5Cjzrx0ZM95lqh/nE1cqmOTh5crML4URhNhyZuRJNf
            sfielkQ4O2HkUmokhScmcJ6roKN+MHwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/
            AAABMAkGA1UdEwQCMAAwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFL92
            YLgofO5RnJsdxxvhA1LZSMreMB8GA1UdIwQYMBaAFDZzbjn8hPRRcadbc8z+Vibe
            8BnCMAoGCCqGSM49BAMCA0cAMEQCIAaOniyLDaFgz9Cc1QpuKaHF695YqjsVSH+z
            MACJyLu6AiBKBbQ+W2I2zDki5F267nHhtRb9jvkMxUDW2/BIagDJVg==
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgd/xp0mI1nwUbCh+K
            6Ay+Vcp4fRxxwQIp4mg0q8v72oKhRANCAATgmsBtJyxLNpRsoFzFHkKPOvHRkz3m
            WqH+cTVyqY5OHlyswvhRGE2HJm5Ek1+x+J6WRDg7YeRSaiSFJyZwnqug
            -----END PRIVATE KEY-----
            """)

    /// For `example.test`.
    package static let otherName = Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBozCCAUmgAwIBAgIUScyV3Q3s1eYNpxiKSia1wZjOrFAwCgYIKoZIzj0EAwIw
            FDESMBAGA1UEAwwJVGVzdCByb290MCAXDTI2MTEyMTAyMzEzNVoYDzIxMjYxMDI4
            MDIzMTM1WjAQMQ4wDAYDVQQDDAVvdGhlcjBZMBMGByqGSM49AgEGCCqGSM49AwEH
            A0IABDH0ki7gVzHoydpMjyl/E4mGGbCswRvFl0G7ALhsuDbHPWttzwjdN831IizK
            CL5G4IPudJGcIGgFyOIk3tREFcSjezB5MBcGA1UdEQQQMA6CDGV4YW1wbGUudGVz
            dDAJBgNVHRMEAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBR2Pert
            v7tqyhuFAtraUN8CM5TMkTAfBgNVHSMEGDAWgBQ2c245/IT0UXGnW3PM/lYm3vAZ
            wjAKBggqhkjOPQQDAgNIADBFAiAvzIElwcqq+77YQdt0tHG27k2NlM+DG59d4Gna
            P2IvKwIhAKPKG/nFddvniImNbTLuNa0UP7Q5bctqia74zru85GED
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguNyQpu/juEul88eH
            9ShUWAvVbwTdfr0EtwVzxl9NyxmhRANCAAQx9JIu4Fcx6MnaTI8pfxOJhhmwrMEb
            xZdBuwC4bLg2xz1rbc8I3TfN9SIsygi+RuCD7nSRnCBoBcjiJN7URBXE
            -----END PRIVATE KEY-----
            """)

    /// For `localhost`, out of date.
    package static let expired = Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBoDCCAUagAwIBAgIUScyV3Q3s1eYNpxiKSia1wZjOrFEwCgYIKoZIzj0EAwIw
            FDESMBAGA1UEAwwJVGVzdCByb290MB4XDTI2MTEyMTAyMzMzN1oXDTI2MTEyMDAy
            MzMzN1owEjEQMA4GA1UEAwwHZXhwaXJlZDBZMBMGByqGSM49AgEGCCqGSM49AwEH
            A0IABL6B8KBXK+KkT7kbi6yJX7e7SsAnO3RwSxT/9+1NouYHIUHvgzm4gtcXltM/
            4VlWNLVLyTKEPwjHIrKSZdqKAqqjeDB2MBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAJ
            BgNVHRMEAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBTeTekdjFkU
            LfbHSffsZgPpazVFMzAfBgNVHSMEGDAWgBQ2c245/IT0UXGnW3PM/lYm3vAZwjAK
            BggqhkjOPQQDAgNIADBFAiAFDMM4zCBukpcgTu2Nm+oE5RlsyytE+Uaz3Ani56M7
            HAIhAJr2ARpShEpU68Yy1LzrzdUjRF8BGLCJjHNChsDgipKE
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+TAlr+ou5F70PUpR
            C/0pKTWvh+f86SK4gVYDts7ZuSShRANCAAS+gfCgVyvipE+5G4usiV+3u0rAJzt0
            cEsU//ftTaLmByFB74M5uILXF5bTP+FZVjS1S8kyhD8IxyKykmXaigKq
            -----END PRIVATE KEY-----
            """)

    package struct Identity: Sendable {
        package let certificate: String
        package let key: String

        package func context() throws -> NIOSSLContext {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { NIOSSLCertificateSource.certificate($0) }
            let privateKey = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
            return try NIOSSLContext(configuration: .makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(privateKey)))
        }
    }
}
